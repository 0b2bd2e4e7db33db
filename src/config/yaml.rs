//! YAML text → a tree of texts, lists and mappings with their line numbers.
//!
//! Scalars stay the text that was written: `123456789012345678` never becomes a float, `007` stays `007`, and what a
//! value means is decided by the key it stands under. There are no tags and no merge keys. Aliases work within a
//! bound, so that a few lines cannot stand for a billion values.

use std::collections::HashMap;
use std::rc::Rc;

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::fault::Fault;

/// The most bytes a file may have. Far above any real configuration.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;
/// The most values a file may stand for, aliases followed.
const VALUES_MAX: usize = 20_000;
/// The deepest nesting, aliases followed. The files need six levels.
const DEPTH_MAX: usize = 24;

/// A value and the line it begins on.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) shape: Shape,
    /// Values in it with itself, aliases followed.
    values: usize,
    /// Levels in it with its own, aliases followed.
    depth: usize,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Shape {
    /// Nothing: an empty value, `~` or `null`.
    Null,
    /// One value, as text. Quotes make no difference beyond keeping it from being nothing.
    Text(String),
    /// A sequence.
    List(Vec<Rc<Node>>),
    /// A mapping, in the order of the file; no key is there twice.
    Map(Vec<Entry>),
}

/// One key of a mapping.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: Rc<Node>,
}

/// Reads a file's text; `fault` gets what is wrong. `None` for an empty file and where the text is no YAML at all.
pub(super) fn parse(file: &str, text: &str, fault: &mut dyn FnMut(Fault)) -> Option<Rc<Node>> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parser = Parser::with_options(StrInput::new(text), options);
    let mut build = Build { file, parser, anchors: HashMap::new(), values: 0, path: Vec::new(), fault };
    match build.file() {
        Ok(root) => root,
        Err(Stop { line, message }) => {
            (build.fault)(Fault { source: file.to_owned(), path: String::new(), line, message });
            None
        }
    }
}

/// Why the text cannot be read further.
struct Stop {
    line: Option<usize>,
    message: String,
}

impl From<ScanError> for Stop {
    fn from(error: ScanError) -> Self {
        let marker = error.marker();
        let message = format!("is not YAML from column {} on: {}", marker.col() + 1, error.info());
        Stop { line: Some(marker.line()), message }
    }
}

struct Build<'a, 't> {
    file: &'a str,
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Rc<Node>>,
    /// Values so far, aliases followed.
    values: usize,
    path: Vec<String>,
    fault: &'a mut dyn FnMut(Fault),
}

impl<'t> Build<'_, 't> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Stop> {
        match self.parser.next_event() {
            Some(event) => Ok(event?),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn file(&mut self) -> Result<Option<Rc<Node>>, Stop> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::DocumentStart(..) if root.is_some() => {
                    let message = "found a second document (`---`), expected one".to_owned();
                    return Err(Stop { line: Some(span.start.line()), message });
                }
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => root = Some(self.node(event, &span, 1)?),
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Rc<Node>, Stop> {
        let line = span.start.line();
        let (node, anchor) = match event {
            Event::Alias(id) => {
                let Some(node) = self.anchors.get(&id).cloned() else {
                    return Err(Stop { line: Some(line), message: "an alias stands inside its own anchor".to_owned() });
                };
                self.count(node.values, depth + node.depth - 1, line)?;
                return Ok(node);
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), line);
                self.count(1, depth, line)?;
                let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let shape = if null { Shape::Null } else { Shape::Text(text.into_owned()) };
                (Node { line, shape, values: 1, depth: 1 }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), line);
                self.count(1, depth, line)?;
                (self.list(line, depth)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), line);
                self.count(1, depth, line)?;
                (self.map(line, depth)?, anchor)
            }
            _ => return Err(Stop { line: Some(line), message: "found no value where one must be".to_owned() }),
        };
        let node = Rc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        Ok(node)
    }

    fn list(&mut self, line: usize, depth: usize) -> Result<Node, Stop> {
        let mut items: Vec<Rc<Node>> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            self.path.push(format!("[{}]", items.len()));
            items.push(self.node(event, &span, depth + 1)?);
            self.path.pop();
        }
        let (values, deepest) = measure(items.iter());
        Ok(Node { line, shape: Shape::List(items), values, depth: deepest })
    }

    fn map(&mut self, line: usize, depth: usize) -> Result<Node, Stop> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let key_line = span.start.line();
            let key = self.node(event, &span, depth + 1)?;
            let name = match &key.shape {
                Shape::Text(text) => Some(text.clone()),
                Shape::Null | Shape::List(_) | Shape::Map(_) => {
                    self.fault(key_line, "found a key that is no text, expected a name".to_owned());
                    None
                }
            };
            let (event, span) = self.next()?;
            self.path.push(step(name.as_deref().unwrap_or("?")));
            let value = self.node(event, &span, depth + 1)?;
            let first = name.as_ref().and_then(|name| entries.iter().find(|entry| entry.key == *name));
            match (name, first) {
                (None, _) => {}
                (Some(_), Some(first)) => {
                    let message = format!("is there twice: first in line {}", first.line);
                    self.fault(key_line, message);
                }
                (Some(key), None) => entries.push(Entry { key, line: key_line, value }),
            }
            self.path.pop();
        }
        let (values, deepest) = measure(entries.iter().map(|entry| &entry.value));
        Ok(Node { line, shape: Shape::Map(entries), values, depth: deepest })
    }

    fn count(&mut self, values: usize, depth: usize, line: usize) -> Result<(), Stop> {
        self.values = self.values.saturating_add(values);
        if self.values > VALUES_MAX {
            let message = format!("stands for more than {VALUES_MAX} values, aliases followed");
            return Err(Stop { line: Some(line), message });
        }
        if depth > DEPTH_MAX {
            let message = format!("is nested more than {DEPTH_MAX} levels deep, aliases followed");
            return Err(Stop { line: Some(line), message });
        }
        Ok(())
    }

    /// The tag is not shown: a secret that begins with `!` and stands without quotes looks like one.
    fn refuse_tag(&mut self, tag: Option<&Tag>, line: usize) {
        if tag.is_some() {
            let message = "found a tag (`!…`), which means nothing here; put a value that begins with `!` in quotes";
            self.fault(line, message.to_owned());
        }
    }

    fn fault(&mut self, line: usize, message: String) {
        let mut path = String::new();
        for step in &self.path {
            path = join(&path, step);
        }
        (self.fault)(Fault { source: self.file.to_owned(), path, line: Some(line), message });
    }
}

fn measure<'n>(nodes: impl Iterator<Item = &'n Rc<Node>>) -> (usize, usize) {
    let (values, depth) = nodes.fold((1, 0), |(values, depth): (usize, usize), node| {
        (values.saturating_add(node.values), depth.max(node.depth))
    });
    (values, depth + 1)
}

/// A key as it stands in a path: in quotes where it could be taken for more than one key.
///
/// `{token:abc}`, without a space, is a key named `token:abc`: what follows the colon is not shown unless it is an id.
pub(super) fn step(key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let shown_key = match key.split_once(':') {
        Some((head, tail)) if !tail.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '/')) => {
            format!("{head}:…")
        }
        _ => key.chars().take(60).collect(),
    };
    if !key.is_empty() && shown_key.chars().all(plain) { shown_key } else { format!("{shown_key:?}") }
}

/// A path and one more step of it.
pub(super) fn join(path: &str, step: &str) -> String {
    if path.is_empty() || step.starts_with('[') { format!("{path}{step}") } else { format!("{path}.{step}") }
}
