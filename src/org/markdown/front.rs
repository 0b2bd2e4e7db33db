//! Front matter: what stands above a text between two lines `---`. Optional everywhere.

use granit_parser::{Event, Options, Parser, ScalarStyle, StrInput};

use super::bullet::bare;
use super::fault::Fault;

/// What is read of it: the texts and lists of its top level. What is nested deeper is somebody else's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Front {
    entries: Vec<(String, Value)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    List(Vec<String>),
}

/// The deepest nesting. Front matter that others define has three levels.
const DEPTH_MAX: usize = 16;

impl Front {
    /// The text of a key, whatever the case of its letters. Nothing where it is empty or a list.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.value(key)? {
            Value::Text(text) if !text.trim().is_empty() => Some(text.trim()),
            Value::Text(_) | Value::List(_) => None,
        }
    }

    /// The list of a key; a text is a list with commas in it.
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        let items: Vec<&str> = match self.value(key)? {
            Value::List(items) => items.iter().map(String::as_str).collect(),
            Value::Text(text) => text.split(',').collect(),
        };
        Some(items.into_iter().map(bare).filter(|item| !item.is_empty()).map(str::to_owned).collect())
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }
}

/// The front matter of a text, the rest of the text, and the line on which that begins.
pub(super) fn split<'t>(file: &str, text: &'t str, faults: &mut Vec<Fault>) -> (Front, &'t str, usize) {
    let none = (Front::default(), text, 1);
    let Some(rest) = text.strip_prefix("---").and_then(first_line_ends) else { return none };
    let Some((inside, after)) = until_mark(rest) else {
        let message = "what begins with `---` here does not end: write a second line `---` behind it, or none at all";
        // A rule across the page opens a text as well; what looks like a key says what was meant.
        if rest.lines().next().is_some_and(|line| key_of(line).is_some()) {
            faults.push(Fault::warning(file, Some(1), message));
        }
        return none;
    };
    let entries = yaml(inside).unwrap_or_else(|(line, message)| {
        let advice = "it is read line by line; put a value with `: ` or `#` in it in quotes";
        faults.push(Fault::warning(file, Some(line + 1), format!("this is not YAML ({message}): {advice}")));
        plain(inside)
    });
    let line = text[..text.len() - after.len()].matches('\n').count() + 1;
    (Front { entries }, after, line)
}

/// What stands behind the line end of a mark's line.
fn first_line_ends(rest: &str) -> Option<&str> {
    let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
    line.trim().is_empty().then_some(after)
}

/// What stands before the closing mark, and what behind it.
fn until_mark(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

type Entries = Vec<(String, Value)>;

/// The keys of a mapping whose values are texts or lists of texts. An error has its line in the text, from 1.
fn yaml(text: &str) -> Result<Entries, (usize, String)> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    let mut parser = Parser::with_options(StrInput::new(text), options);
    let mut found = Found::default();
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| (error.marker().line(), error.info().to_owned()))?;
        if found.depth == 0 && matches!(event, Event::Scalar(..) | Event::SequenceStart(..)) {
            return Err((span.start.line(), "there are no keys in it".to_owned()));
        }
        found.take(event);
    }
    Ok(found.entries)
}

/// What was found so far: a key waits for its value, a list for its end.
#[derive(Default)]
struct Found {
    entries: Entries,
    depth: usize,
    key: Option<String>,
    list: Option<Vec<String>>,
    /// A list or a mapping is being read that is itself a key: it has no name, and its value counts as one all the same.
    nameless: bool,
}

impl Found {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                self.depth += 1;
                if self.depth == 2 && self.key.is_none() {
                    self.nameless = true;
                } else if self.depth == 2 && matches!(event, Event::SequenceStart(..)) {
                    self.list = Some(Vec::new());
                }
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 1 && std::mem::take(&mut self.nameless) {
                    self.key = Some(String::new());
                } else if self.depth == 1 {
                    let list = self.list.take();
                    self.value(list.map(Value::List));
                }
            }
            Event::Scalar(text, style, ..) => match (self.depth, &mut self.list) {
                (1, _) if self.key.is_none() => self.key = Some(text.into_owned()),
                (1, _) => {
                    let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                    self.value((!null).then(|| Value::Text(text.into_owned())));
                }
                (2, Some(list)) => list.push(text.into_owned()),
                _ => {}
            },
            Event::Alias(_) if self.depth == 1 && self.key.is_none() => self.key = Some(String::new()),
            Event::Alias(_) if self.depth == 1 => self.value(None),
            _ => {}
        }
    }

    /// The value of the key that waits; without one, the key stands for nothing.
    fn value(&mut self, value: Option<Value>) {
        if let (Some(key), Some(value)) = (self.key.take(), value) {
            self.entries.push((key, value));
        }
    }
}

/// What agents write that is no YAML: `description: Ships it: fast`.
fn plain(text: &str) -> Entries {
    let mut entries: Entries = Vec::new();
    for line in text.lines() {
        match (key_of(line), line.trim_start().strip_prefix("- "), entries.last_mut()) {
            (Some((key, value)), None, _) if !line.starts_with(char::is_whitespace) => {
                entries.push((key.to_owned(), Value::Text(bare(value).to_owned())));
            }
            (_, Some(item), Some((_, value))) => match value {
                Value::List(items) => items.push(bare(item).to_owned()),
                Value::Text(text) if text.is_empty() => *value = Value::List(vec![bare(item).to_owned()]),
                Value::Text(_) => {}
            },
            _ => {}
        }
    }
    entries
}

fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let parted = value.is_empty() || value.starts_with(char::is_whitespace);
    (parted && !key.is_empty() && key.chars().all(fits)).then(|| (key, value.trim()))
}
