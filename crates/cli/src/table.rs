//! Columns that stand below each other.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::paint::safe;

/// What stands between two columns.
const GAP: &str = "  ";
/// No cell is cut to less: ids and times stay whole.
const LEAST: usize = 28;

/// Rows as lines, every column as wide as its widest cell. The first row is the head. Nothing in a cell commands the terminal.
pub(crate) fn table<R: AsRef<[String]>>(rows: &[R], indent: &str) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.as_ref().iter().map(|cell| safe(cell)).collect()).collect();
    let widths = widths(&rows);
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let padded = cells.map(|(cell, width)| cell.clone() + &" ".repeat(width - cell.width()));
        format!("{indent}{}", padded.collect::<Vec<_>>().join(GAP)).trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The same for a terminal with so many columns: long cells are cut, and what finds no room is told by name below.
pub(crate) fn narrow_table(rows: &[Vec<String>], indent: &str, columns: usize) -> String {
    let room = columns.saturating_sub(indent.width());
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| safe(cell)).collect()).collect();
    let widths = widths(&rows);
    let needs = |longest: usize| -> usize {
        widths.iter().map(|width| *width.min(&longest) + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
    };
    let longest = (LEAST..=room.max(LEAST)).rev().find(|longest| needs(*longest) <= room).unwrap_or(LEAST);
    let (shown, hidden) = fitting(&widths, longest, room);
    let pick =
        |row: &Vec<String>| -> Vec<String> { shown.iter().map(|at| cut(&row[*at], longest)).collect() };
    let mut text = table(&rows.iter().map(pick).collect::<Vec<_>>(), indent);
    if let (Some(head), false) = (rows.first(), hidden.is_empty()) {
        let names: Vec<&str> = hidden.iter().map(|at| head[*at].as_str()).collect();
        let _ = writeln!(text, "{indent}not shown: {}; --json has all", names.join(", "));
    }
    text
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let widest = |at: usize| rows.iter().map(|row| row[at].width()).max().unwrap_or(0);
    (0..rows.first().map_or(0, Vec::len)).map(widest).collect()
}

/// The columns that there is room for, and the others. The first is always shown.
fn fitting(widths: &[usize], longest: usize, room: usize) -> (Vec<usize>, Vec<usize>) {
    let mut used = 0;
    (0..widths.len()).partition(|at| {
        let gap = if used == 0 { 0 } else { GAP.len() };
        let needed = used + gap + widths[*at].min(longest);
        let fits = *at == 0 || needed <= room;
        used = if fits { needed } else { used };
        fits
    })
}

/// The beginning of a text that is too long.
fn cut(text: &str, longest: usize) -> String {
    if text.width() <= longest {
        return text.to_owned();
    }
    let mut width = 0;
    let begin = text.chars().take_while(|c| {
        width += c.width().unwrap_or(0);
        width < longest
    });
    begin.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows =
            [["ID", "NAME"], ["1", "Ada"], ["22", "日本"], ["3", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows, " "), " ID  NAME\n 1   Ada\n 22  日本\n 3\n");
        assert_eq!(table::<[String; 1]>(&[], ""), "");
        let hostile = [["a\u{1b}[31mb\u{202e}c".to_owned(), "d".to_owned()]];
        assert_eq!(table(&hostile, ""), "a\\u{1b}[31mb\\u{202e}c  d\n");
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let (long, dear) = ("x".repeat(60), "日".repeat(40));
        let rows: Vec<Vec<String>> = [["id", "name", "text", "n"], ["proj_1", &dear, &long, "7"]]
            .iter()
            .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect())
            .collect();
        for (columns, expected) in [
            (
                200,
                format!(
                    " id      name{}  text{}  n\n proj_1  {dear}  {long}  7\n",
                    " ".repeat(76),
                    " ".repeat(56)
                ),
            ),
            (
                80,
                format!(
                    " id      name{}  text{}  n\n proj_1  {}…  {}…  7\n",
                    " ".repeat(29),
                    " ".repeat(29),
                    "日".repeat(16),
                    "x".repeat(32)
                ),
            ),
            (
                45,
                format!(
                    " id      name{}  n\n proj_1  {}…  7\n not shown: text; --json has all\n",
                    " ".repeat(23),
                    "日".repeat(13)
                ),
            ),
            (5, " id\n proj_1\n not shown: name, text, n; --json has all\n".to_owned()),
        ] {
            assert_eq!(narrow_table(&rows, " ", columns), expected, "{columns}");
        }
        assert_eq!(narrow_table(&[], "", 80), "");
        assert_eq!(narrow_table(&[Vec::new()], "", 80), "\n", "as without a limit");
    }
}
