//! Tables: those that hold data as tables, those that lay out a page as the text that is in them.

/// How many columns are counted: a row with more is a fault of the page.
const COLUMNS_MAX: usize = 100;

/// A table in the making.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    size: usize,
}

impl Table {
    /// Begins a row.
    pub fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the row.
    pub fn cell(&mut self, text: String) {
        if self.rows.is_empty() {
            self.row();
        }
        // A cell costs its two bars as well.
        self.size += text.len() + 3;
        if let Some(row) = self.rows.last_mut()
            && row.len() < COLUMNS_MAX
        {
            row.push(text);
        }
    }

    /// How long it is so far, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The table, or what is in it: where a cell has several lines or there is only one column, it is no table of data.
    pub fn finish(mut self) -> String {
        self.rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let is_data = columns > 1 && self.rows.len() > 1 && !self.rows.iter().flatten().any(|cell| cell.contains('\n'));
        if !is_data {
            let rows = self.rows.iter().map(|row| {
                let cells: Vec<_> = row.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
                let lines = cells.iter().any(|cell| cell.contains('\n'));
                cells.join(if lines { "\n" } else { " " })
            });
            return rows.collect::<Vec<_>>().join("\n");
        }
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row)).collect();
        let ruled = self.rows.first().map_or(0, Vec::len);
        lines.insert(1, format!("|{}", " --- |".repeat(ruled)));
        lines.join("\n")
    }
}

fn line(row: &[String]) -> String {
    let cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |", cells.join(" | "))
}
