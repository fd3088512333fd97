//! Figures to tables and to JSON.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::BenchResult;

/// Rows of servers, columns of figures. Where ratios are shown, the first row is fluxway, and they are against it.
pub(crate) struct FigureTable {
    title: String,
    has_ratios: bool,
    columns: Vec<&'static str>,
    rows: Vec<(String, Vec<Option<f64>>)>,
}

impl FigureTable {
    pub(crate) fn new(title: impl Into<String>, columns: &[&'static str]) -> Self {
        Self { title: title.into(), has_ratios: true, columns: columns.to_vec(), rows: Vec::new() }
    }

    /// A table whose ratios, if there are any, are columns of their own.
    pub(crate) fn without_ratios(title: impl Into<String>, columns: &[&'static str]) -> Self {
        Self { has_ratios: false, ..Self::new(title, columns) }
    }

    pub(crate) fn add_row(&mut self, name: &str, figures: Vec<Option<f64>>) {
        self.rows.push((name.to_owned(), figures));
    }

    /// Markdown: each figure, and where it says something, how many times ours it is.
    pub(crate) fn print(&self) {
        let mut text = format!(
            "\n### {}\n\n| | {} |\n|---|{}\n",
            self.title,
            self.columns.join(" | "),
            "---:|".repeat(self.columns.len())
        );
        for (name, figures) in &self.rows {
            let _ = write!(text, "| {name} |");
            for (column, figure) in figures.iter().enumerate() {
                let ours = self.rows.first().and_then(|(_, first)| first[column]);
                let _ = match (figure, ours) {
                    (Some(figure), Some(ours))
                        if self.has_ratios && ours > 0.0 && name != &self.rows[0].0 =>
                    {
                        write!(text, " {} ({:.2}x) |", format_figure(*figure), figure / ours)
                    }
                    (Some(figure), _) => write!(text, " {} |", format_figure(*figure)),
                    (None, _) => write!(text, " - |"),
                };
            }
            text.push('\n');
        }
        println!("{text}");
    }

    pub(crate) fn to_json(&self) -> Value {
        let rows: Map<String, Value> = self
            .rows
            .iter()
            .map(|(name, figures)| {
                let figures: Map<String, Value> = self
                    .columns
                    .iter()
                    .zip(figures)
                    .map(|(column, figure)| ((*column).to_owned(), json!(figure)))
                    .collect();
                (name.clone(), Value::Object(figures))
            })
            .collect();
        json!({ "title": self.title, "rows": rows })
    }
}

/// Writes what was measured beside the binaries.
pub(crate) fn save(name: &str, tables: &[&FigureTable]) -> BenchResult<()> {
    let path = std::env::current_exe()?.with_file_name(format!("bench-{name}.json"));
    let machine = json!({ "cores": std::thread::available_parallelism()?.get(), "processor": processor() });
    let all = json!({ "machine": machine, "tables": tables.iter().map(|table| table.to_json()).collect::<Vec<_>>() });
    std::fs::write(&path, serde_json::to_string_pretty(&all)?)?;
    println!("{} core(s) of {}; figures in {}", machine["cores"], processor(), path.display());
    Ok(())
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("an unknown processor");
    model.trim_start_matches([' ', '\t', ':']).to_owned()
}

fn format_figure(figure: f64) -> String {
    if figure >= 1000.0 {
        format!("{figure:.0}")
    } else if figure >= 10.0 {
        format!("{figure:.1}")
    } else if figure >= 1.0 {
        format!("{figure:.2}")
    } else {
        format!("{figure:.3}")
    }
}

/// The middle one.
pub(crate) fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}
