//! Reads a parsed file key by key: every key is asked for by name, what nobody asked for is a fault.

use std::rc::Rc;

use super::fault::{Fault, Key, Log, quoted_list};
use super::form::Form;
use super::yaml::{Entry, Node, Shape, join, step};

/// Where a value stands, for people and for the list of known keys.
#[derive(Clone)]
struct Place<'l> {
    log: &'l Log,
    file: &'static str,
    /// The keys as they were written.
    path: String,
    /// The same with `<name>` for the names that the writer chose.
    pattern: String,
    /// No file is read: every key is asked for, so that [`Log::keys`] knows it.
    survey: bool,
}

impl Place<'_> {
    fn fault(&self, line: Option<usize>, message: String) {
        self.log.fault(Fault { source: self.file.to_owned(), path: self.path.clone(), line, message });
    }

    fn below(&self, key: &str, pattern: &str) -> Self {
        Place { path: join(&self.path, &step(key)), pattern: join(&self.pattern, pattern), ..self.clone() }
    }
}

/// A mapping of a file, with the keys that were asked for so far. Ask for each, then [`Reader::finish`].
pub(super) struct Reader<'l> {
    place: Place<'l>,
    /// Where its key stands.
    line: Option<usize>,
    entries: &'l [Entry],
    /// Something else stands there, which has been told: that keys are missing in it says nothing new.
    broken: bool,
    asked: Vec<&'static str>,
}

/// One value, present or not.
pub(super) struct Value<'l> {
    place: Place<'l>,
    /// Where its key stands.
    line: Option<usize>,
    node: Option<&'l Node>,
}

impl<'l> Reader<'l> {
    /// The top of a file. `root` is absent for an empty or missing one.
    pub(super) fn of_file(log: &'l Log, file: &'static str, root: Option<&'l Rc<Node>>) -> Self {
        let place = Place { log, file, path: String::new(), pattern: String::new(), survey: false };
        Value { place, line: None, node: root.map(Rc::as_ref) }.section()
    }

    /// A reader for which every section and list has one entry, for listing the known keys.
    pub(super) fn survey(log: &'l Log, file: &'static str) -> Self {
        let place = Place { log, file, path: String::new(), pattern: String::new(), survey: true };
        Reader { place, line: None, entries: &[], broken: false, asked: Vec::new() }
    }

    /// The value of `key`, or `default`, which is written as in the file.
    pub(super) fn get<T>(&mut self, key: &'static str, default: &'static str, form: &Form<T>) -> T {
        self.place.log.known(self.key(key), default);
        let given = self.value(key).read(form);
        given.unwrap_or_else(|| form.read(default).expect("a default of ours is well formed"))
    }

    /// The value of `key`, if it is there and well formed.
    pub(super) fn find<T>(&mut self, key: &'static str, form: &Form<T>) -> Option<T> {
        self.place.log.known(self.key(key), "");
        self.value(key).read(form)
    }

    /// The items of the list `key`; `default` is what an absent list stands for.
    pub(super) fn list<T>(&mut self, key: &'static str, default: &[&'static str], form: &Form<T>) -> Vec<T> {
        if self.has(key) || default.is_empty() {
            return self.items(key, form).into_iter().map(|(item, _)| item).collect();
        }
        self.asked.push(key);
        self.place.log.known(self.key(key), &format!("[{}]", default.join(", ")));
        default.iter().map(|text| form.read(text).expect("a default of ours is well formed")).collect()
    }

    /// The items of the list `key`, if it is there: an empty list says something else than none.
    pub(super) fn find_list<T>(&mut self, key: &'static str, form: &Form<T>) -> Option<Vec<T>> {
        self.place.log.known(self.key(key), "");
        let there = self.has(key);
        let items = self.value(key).items();
        there.then(|| items.into_iter().filter_map(|item| item.read(form)).collect())
    }

    /// The well-formed items of the list `key`, each with its place; an absent list is empty.
    pub(super) fn items<T>(&mut self, key: &'static str, form: &Form<T>) -> Vec<(T, Value<'l>)> {
        self.place.log.known(self.key(key), "[]");
        let items = self.value(key).items();
        items.into_iter().filter_map(|item| Some((item.read(form)?, item))).collect()
    }

    /// The mapping under `key`; an absent one is empty.
    pub(super) fn section(&mut self, key: &'static str) -> Reader<'l> {
        self.value(key).section()
    }

    /// Like [`Reader::section`], for one of several keys that hold the same: they are listed once, as `pattern`.
    pub(super) fn section_like(&mut self, key: &'static str, pattern: &str) -> Reader<'l> {
        Value { place: self.place.below(key, pattern), ..self.value(key) }.section()
    }

    /// The entries of the mapping under `key`, whose keys the writer chooses; listed as `pattern`.
    pub(super) fn entries(&mut self, key: &'static str, pattern: &'static str) -> Vec<(String, Value<'l>)> {
        let section = self.value(key).section();
        if section.place.survey {
            let name = pattern.trim_matches(['<', '>']).to_owned();
            return vec![(name, Value { place: section.place.below(pattern, pattern), line: None, node: None })];
        }
        let value = |entry: &'l Entry| {
            let place = section.place.below(&entry.key, pattern);
            (entry.key.clone(), Value { place, line: Some(entry.line), node: Some(&entry.value) })
        };
        section.entries.iter().map(value).collect()
    }

    /// A fault of `key` that its reader could not see by itself.
    pub(super) fn fault(&self, key: &str, message: impl Into<String>) {
        let line = self.entry(key).map(|entry| entry.line).or(self.line);
        self.place.below(key, key).fault(line, message.into());
    }

    /// Refuses that `key` is not there; `expected` says what should be.
    pub(super) fn require(&self, key: &str, expected: &str) {
        if !self.has(key) && !self.broken {
            self.fault(key, format!("is missing{expected}"));
        }
    }

    /// Whether the writer gave `key` a value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// Refuses every key that was not asked for.
    pub(super) fn finish(self) {
        let unknown = self.entries.iter().filter(|entry| !self.asked.contains(&entry.key.as_str()));
        for entry in unknown {
            let hint = match base::text::meant(&entry.key, self.asked.iter().copied()) {
                Some(key) => format!("did you mean `{key}`?"),
                None => format!("known here: {}", quoted_list(&self.asked, "and")),
            };
            self.place.below(&entry.key, "").fault(Some(entry.line), format!("is no key; {hint}"));
        }
    }

    fn value(&mut self, key: &'static str) -> Value<'l> {
        self.asked.push(key);
        let line = self.entry(key).map(|entry| entry.line);
        Value { place: self.place.below(key, key), line, node: self.node(key) }
    }

    fn entry(&self, key: &str) -> Option<&'l Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn node(&self, key: &str) -> Option<&'l Node> {
        let entry = self.entry(key)?;
        // `key:` with nothing after it is as good as no such line.
        (!matches!(entry.value.shape, Shape::Null)).then_some(&*entry.value)
    }

    fn key(&self, key: &str) -> Key {
        Key { file: self.place.file.to_owned(), path: join(&self.place.pattern, key) }
    }
}

impl<'l> Value<'l> {
    /// The meaning of the value, if it is there and well formed.
    pub(super) fn read<T>(&self, form: &Form<T>) -> Option<T> {
        let node = self.node?;
        let result = match &node.shape {
            Shape::Text(text) => form.read(text),
            shape => Err(format!("found {}, expected {}", found(shape), form.expected)),
        };
        result.map_err(|message| self.place.fault(Some(node.line), message)).ok()
    }

    /// The mapping; an absent one is empty.
    pub(super) fn section(self) -> Reader<'l> {
        let (entries, broken) = match self.node {
            None => (&[][..], false),
            Some(Node { shape: Shape::Map(entries), .. }) => (entries.as_slice(), false),
            Some(Node { shape: Shape::Null, .. }) => (&[][..], false),
            Some(node) => {
                self.fault(format!("found {}, expected a mapping (`key: value`)", found(&node.shape)));
                (&[][..], true)
            }
        };
        Reader { place: self.place, line: self.line, entries, broken, asked: Vec::new() }
    }

    /// A fault of this value that its reader could not see by itself.
    pub(super) fn fault(&self, message: impl Into<String>) {
        self.place.fault(self.node.map(|node| node.line).or(self.line), message.into());
    }

    /// Notes that the value is known, for values that are no key of a [`Reader`].
    pub(super) fn known(&self) {
        self.place.log.known(Key { file: self.place.file.to_owned(), path: self.place.pattern.clone() }, "");
    }

    fn items(&self) -> Vec<Value<'l>> {
        match self.node {
            Some(Node { shape: Shape::List(items), .. }) => {
                let item = |(index, node): (usize, &'l Rc<Node>)| {
                    let index = format!("[{index}]");
                    let path = join(&self.place.path, &index);
                    Value { place: Place { path, ..self.place.clone() }, line: Some(node.line), node: Some(node) }
                };
                items.iter().enumerate().map(item).collect()
            }
            Some(node) => {
                self.fault(format!("found {}, expected a list such as `[a, b]`", found(&node.shape)));
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}

/// What stands where something else should. A text is not shown: it may be a secret in the wrong place.
fn found(shape: &Shape) -> &'static str {
    match shape {
        Shape::Null => "nothing",
        Shape::Text(_) => "a single value",
        Shape::List(_) => "a list",
        Shape::Map(_) => "a mapping",
    }
}
