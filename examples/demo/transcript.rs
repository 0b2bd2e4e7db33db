//! The page: two columns, one for each platform.

/// The width of a column, in characters.
const COLUMN: usize = 58;
/// The width of a speaker's name.
const NAME: usize = 6;

/// Something that somebody said, did or saw.
#[derive(Clone, Debug)]
pub struct Line {
    who: String,
    text: String,
}

impl Line {
    /// `who` said or did `text`.
    pub fn new(who: &str, text: impl Into<String>) -> Line {
        Line { who: who.to_owned(), text: text.into() }
    }
}

/// A page that is written from above.
pub struct Transcript;

impl Transcript {
    /// Begins with the columns' names.
    pub fn begin(left: &str, right: &str) -> Transcript {
        println!("{}", beside(&format!("{left} (loopback server)"), &format!("{right} (loopback server)")));
        Transcript
    }

    /// A heading.
    pub fn act(&self, title: &str) {
        println!("\n━━ {title}\n");
    }

    /// A line about both sides.
    pub fn note(&self, text: &str) {
        println!("\n   ── {text}");
    }

    /// An empty line.
    pub fn gap(&self) {
        println!();
    }

    /// The last line.
    pub fn end(&self, text: &str) {
        println!("\n{text}");
    }

    /// What each side saw, beside each other: the n-th of one beside the n-th of the other.
    pub fn rows(&self, left: &[Line], right: &[Line]) {
        for number in 0..left.len().max(right.len()) {
            let wrapped = |lines: &[Line]| lines.get(number).map(wrap).unwrap_or_default();
            let (left, right) = (wrapped(left), wrapped(right));
            for row in 0..left.len().max(right.len()) {
                let at = |lines: &[String]| lines.get(row).cloned().unwrap_or_default();
                println!("{}", beside(&at(&left), &at(&right)));
            }
        }
    }
}

fn beside(left: &str, right: &str) -> String {
    let pad = COLUMN.saturating_sub(left.chars().count());
    format!("{left}{} │ {right}", " ".repeat(pad)).trim_end().to_owned()
}

/// A line broken at blanks, with the speaker before it.
fn wrap(line: &Line) -> Vec<String> {
    let room = COLUMN - NAME - 1;
    let mut rows = Vec::new();
    for paragraph in line.text.lines().filter(|paragraph| !paragraph.trim().is_empty()) {
        let mut row = String::new();
        for word in paragraph.split(' ') {
            if !row.is_empty() && row.chars().count() + 1 + word.chars().count() > room {
                rows.push(std::mem::take(&mut row));
            }
            if !row.is_empty() {
                row.push(' ');
            }
            row.push_str(word);
        }
        rows.push(row);
    }
    let named = |(number, row): (usize, &String)| {
        let who = if number == 0 { line.who.as_str() } else { "" };
        format!("{who:<NAME$} {row}")
    };
    rows.iter().enumerate().map(named).collect()
}
