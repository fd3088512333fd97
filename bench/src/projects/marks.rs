//! What was wanted beforehand, and whether it is so. Nothing fails that is not.

use crate::table::Table;

#[derive(Default)]
pub(super) struct Marks(Vec<(String, f64, f64)>);

impl Marks {
    /// Something that should be at most so much.
    pub(super) fn hold(&mut self, what: String, found: Option<f64>, most: f64) {
        self.0.extend(found.map(|found| (what, found, most)));
    }

    pub(super) fn table(&self) -> Table {
        let met = self.0.iter().filter(|(_, found, most)| found <= most).count();
        let mut table =
            Table::plain(format!("{met} of {} marks are met", self.0.len()), &["found", "at most"]);
        for (what, found, most) in &self.0 {
            let verdict = if found <= most { "met" } else { "MISSED" };
            table.row(&format!("{verdict}: {what}"), vec![Some(*found), Some(*most)]);
        }
        table
    }
}
