//! A table as aligned text, for platforms that have none.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr as _;

/// The widest column that others are aligned to; longer cells run over.
const COLUMN_WIDTH_MAX: usize = 40;

/// A table while it is read.
#[derive(Debug)]
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Table { alignments, rows: Vec::new() }
    }

    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// What the cell says so far.
    pub(super) fn text(&mut self) -> Option<&mut String> {
        self.rows.last_mut()?.last_mut()
    }

    /// The table as lines, the head set off by a rule.
    pub(super) fn lines(&self) -> String {
        let widths = self.widths();
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        for (index, row) in self.rows.iter().enumerate() {
            let cells = widths.iter().enumerate().map(|(column, width)| {
                let cell = row.get(column).map_or("", |cell| cell.trim());
                pad(cell, *width, self.alignments.get(column).copied().unwrap_or(Alignment::None))
            });
            lines.push(cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned());
            if index == 0 {
                lines.push(widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("-+-"));
            }
        }
        lines.join("\n")
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1; columns];
        for row in &self.rows {
            for (cell, width) in row.iter().zip(&mut widths) {
                *width = cell.trim().width().clamp(*width, COLUMN_WIDTH_MAX);
            }
        }
        widths
    }
}

fn pad(cell: &str, width: usize, alignment: Alignment) -> String {
    let room = width.saturating_sub(cell.width());
    let left = match alignment {
        Alignment::None | Alignment::Left => 0,
        Alignment::Center => room / 2,
        Alignment::Right => room,
    };
    format!("{}{cell}{}", " ".repeat(left), " ".repeat(room - left))
}
