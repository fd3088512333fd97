//! Columns that stand below each other.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::styling::escape_controls;

/// What stands between two columns.
const COLUMN_GAP: &str = "  ";
/// No cell is cut to less: ids and times stay whole.
const MIN_CELL_WIDTH: usize = 28;

/// Rows as lines, every column as wide as its widest cell. The first row is the head. Nothing in a cell commands the terminal.
pub(crate) fn render_table<R: AsRef<[String]>>(rows: &[R], indent: &str) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.as_ref().iter().map(|cell| escape_controls(cell)).collect()).collect();
    let widths = column_widths(&rows);
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let padded = cells.map(|(cell, width)| cell.clone() + &" ".repeat(width - cell.width()));
        format!("{indent}{}", padded.collect::<Vec<_>>().join(COLUMN_GAP)).trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The same for a terminal with so many columns: long cells are cut, and what finds no room is told by name below.
pub(crate) fn render_table_to_width(rows: &[Vec<String>], indent: &str, columns: usize) -> String {
    let room = columns.saturating_sub(indent.width());
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| escape_controls(cell)).collect()).collect();
    let widths = column_widths(&rows);
    let needs = |longest: usize| -> usize {
        widths
            .iter()
            .map(|width| *width.min(&longest) + COLUMN_GAP.len())
            .sum::<usize>()
            .saturating_sub(COLUMN_GAP.len())
    };
    let longest = (MIN_CELL_WIDTH..=room.max(MIN_CELL_WIDTH))
        .rev()
        .find(|longest| needs(*longest) <= room)
        .unwrap_or(MIN_CELL_WIDTH);
    let (shown, hidden) = columns_that_fit(&widths, longest, room);
    let pick = |row: &Vec<String>| -> Vec<String> {
        shown.iter().map(|at| truncate_cell(&row[*at], longest)).collect()
    };
    let mut text = render_table(&rows.iter().map(pick).collect::<Vec<_>>(), indent);
    if let (Some(head), false) = (rows.first(), hidden.is_empty()) {
        let names: Vec<&str> = hidden.iter().map(|at| head[*at].as_str()).collect();
        let _ = writeln!(text, "{indent}not shown: {}; --json has all", names.join(", "));
    }
    text
}

fn column_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let widest = |at: usize| rows.iter().map(|row| row[at].width()).max().unwrap_or(0);
    (0..rows.first().map_or(0, Vec::len)).map(widest).collect()
}

/// The columns that there is room for, and the others. The first is always shown.
fn columns_that_fit(widths: &[usize], longest: usize, room: usize) -> (Vec<usize>, Vec<usize>) {
    let mut used = 0;
    (0..widths.len()).partition(|at| {
        let gap = if used == 0 { 0 } else { COLUMN_GAP.len() };
        let needed = used + gap + widths[*at].min(longest);
        let fits = *at == 0 || needed <= room;
        used = if fits { needed } else { used };
        fits
    })
}

/// The beginning of a text that is too long.
fn truncate_cell(text: &str, longest: usize) -> String {
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
    fn columns_are_aligned() {
        let rows =
            [["ID", "NAME"], ["1", "Ada"], ["22", "日本"], ["3", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(render_table(&rows, " "), " ID  NAME\n 1   Ada\n 22  日本\n 3\n");
        assert_eq!(render_table::<[String; 1]>(&[], ""), "");
        let hostile = [["a\u{1b}[31mb\u{202e}c".to_owned(), "d".to_owned()]];
        assert_eq!(render_table(&hostile, ""), "a\\u{1b}[31mb\\u{202e}c  d\n");
    }

    #[test]
    fn wide_tables_are_fitted_to_the_terminal() {
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
            assert_eq!(render_table_to_width(&rows, " ", columns), expected, "{columns}");
        }
        assert_eq!(render_table_to_width(&[], "", 80), "");
        assert_eq!(render_table_to_width(&[Vec::new()], "", 80), "\n", "as without a limit");
    }
}
