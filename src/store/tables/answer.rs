//! Values: from JSON to SQLite, and rows back to JSON, within bounds.

use rusqlite::Statement;
use rusqlite::types::{Value, ValueRef};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// What a call gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The names of the columns; none where there are no rows to be given.
    pub columns: Vec<String>,
    /// The rows. A blob is written as SQL writes one, `x'0f'`; of a long one its length.
    pub rows: Vec<Vec<Json>>,
    /// Whether there are more rows than these, or a text was cut.
    pub truncated: bool,
    /// How many rows were changed, also by triggers.
    pub changes: u64,
}

/// The longest text of one cell, in bytes.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// The longest blob that is written out, in bytes.
const BLOB_BYTES_MAX: usize = 256;

/// A value of JSON as SQLite has it: a list or an object is its text, which SQLite's functions for JSON read.
pub(super) fn value(json: &Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(yes) => Value::Integer(i64::from(*yes)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::Integer(whole),
            (None, Some(real)) if number.is_f64() => Value::Real(real),
            _ => return Err(format!("{number} does not fit into a whole number of 64 bits")),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(_) | Json::Object(_) => Value::Text(json.to_string()),
    })
}

/// Runs a statement and reads its rows, at most `rows_max` of them and `bytes_max` of JSON. One that changes something
/// is run to its end all the same.
pub(super) fn read(statement: &mut Statement<'_>, rows_max: usize, bytes_max: usize) -> rusqlite::Result<Answer> {
    let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let (width, only_reads) = (columns.len(), statement.readonly());
    let mut answer = Answer { columns, ..Answer::default() };
    // A row may have thousands of columns: together they fit as well.
    let cell_bytes_max = (bytes_max / width.max(1)).min(TEXT_BYTES_MAX);
    let mut left = bytes_max;
    let mut full = false;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if full || answer.rows.len() >= rows_max {
            answer.truncated = true;
            if only_reads {
                break;
            }
            continue;
        }
        let mut cells = Vec::with_capacity(width);
        for at in 0..width {
            let (cell, cut) = cell(row.get_ref(at)?, cell_bytes_max);
            answer.truncated |= cut;
            cells.push(cell);
        }
        let bytes: usize = cells.iter().map(|cell| cell.to_string().len() + 1).sum();
        // The first row is given however long it is: its cells are bounded by their number.
        full = bytes > left && !answer.rows.is_empty();
        left = left.saturating_sub(bytes);
        if full {
            answer.truncated = true;
            if only_reads {
                break;
            }
            continue;
        }
        answer.rows.push(cells);
    }
    Ok(answer)
}

/// A cell, and whether it was cut to `bytes_max`.
fn cell(value: ValueRef<'_>, bytes_max: usize) -> (Json, bool) {
    match value {
        ValueRef::Null => (Json::Null, false),
        ValueRef::Integer(whole) => (whole.into(), false),
        // Infinity is no number of JSON's.
        ValueRef::Real(real) => {
            (serde_json::Number::from_f64(real).map_or_else(|| real.to_string().into(), Json::from), false)
        }
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let end = text.floor_char_boundary(bytes_max);
            if end < text.len() { (format!("{}…", &text[..end]).into(), true) } else { (text.into(), false) }
        }
        ValueRef::Blob(bytes) if bytes.len() <= BLOB_BYTES_MAX.min(bytes_max / 2) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            (format!("x'{digits}'").into(), false)
        }
        ValueRef::Blob(bytes) => (format!("a blob of {} bytes", bytes.len()).into(), true),
    }
}
