//! Who takes part, and whom a line speaks to.

use std::collections::HashMap;

/// No more names than this are read off the start of a line, or looked for inside it.
const NAMES_MAX: usize = 4;

/// Everyday words that people take as names. They count as an address only with a sign: `ubuntu:`, `@ubuntu`.
const EVERYDAY: &str = " a all am any anyone bash bug bye can chat cool dave desktop dns do docs error fix for free \
    gnome go guest guy guys he hello help here hey hi home how i if in install is it java just kde kernel linux lol \
    mac me me2 more my need new news nice no not nothing now of ok on or pc please python really root server shell so \
    some sorry stable system test thanks that the then there this to ubuntu update user vim we well what when where \
    who why windows wine with word work yes you ";

/// Somebody, by the order of appearance. A change of name keeps the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Person(usize);

/// Everybody who was seen so far, under every name they had.
#[derive(Clone, Debug, Default)]
pub(super) struct People {
    by_name: HashMap<String, Person>,
    bots: Vec<bool>,
}

/// Whom a line speaks to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Address {
    /// Those named at its start; if there are none, those named in it.
    pub to: Vec<Person>,
    /// The name stands at the start.
    pub at_start: bool,
    /// It names somebody who was never seen.
    pub to_stranger: bool,
    /// Where the text proper begins, in bytes.
    pub text_from: usize,
}

impl People {
    /// The person called `name`, who may be new.
    pub(super) fn meet(&mut self, name: &str) -> Person {
        let name = fold(name);
        let next = Person(self.bots.len());
        let bot = name.contains("bot");
        let person = *self.by_name.entry(name).or_insert(next);
        if person == next {
            self.bots.push(bot);
        }
        person
    }

    /// The person called `name`, if there is one.
    pub(super) fn find(&self, name: &str) -> Option<Person> {
        self.by_name.get(&fold(name)).copied()
    }

    /// Notes that `old` is called `new` from now on.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        if let Some(person) = self.find(old) {
            self.by_name.insert(fold(new), person);
        }
    }

    /// Whether `person` calls itself a bot.
    pub(super) fn is_bot(&self, person: Person) -> bool {
        self.bots[person.0]
    }

    /// Whom `text`, written by `author`, speaks to; `mentions` are the names that the platform itself marked.
    pub(super) fn addressed(&self, text: &str, mentions: &[&str], author: Person) -> Address {
        let mut address = self.called(text, author);
        for name in mentions {
            match self.find(name) {
                Some(person) if person != author && !address.to.contains(&person) => address.to.push(person),
                Some(_) => {}
                None => address.to_stranger = address.to.is_empty(),
            }
        }
        if address.to.is_empty() {
            address.to = self.named(text, author);
        }
        address
    }

    /// Reads names off the start: `ann: …`, `ann, bob: …`, `@ann …`, `ann …`.
    fn called(&self, text: &str, author: Person) -> Address {
        let mut address = Address::default();
        let mut rest = text.trim_start();
        while address.to.len() < NAMES_MAX {
            let word = rest.split_whitespace().next().unwrap_or_default();
            let name = bare(word);
            let after = &rest[word.len()..];
            let marked = word.starts_with('@') || word.ends_with([':', ',', '>', ';']) || starts_with_mark(after);
            let Some(person) = self.find(name) else {
                let looks_called = word.len() > 2 && word.ends_with(':');
                address.to_stranger = address.to.is_empty() && looks_called;
                break;
            };
            let meant = marked || address.to.is_empty() && !is_everyday(name);
            if person == author || !meant {
                break;
            }
            if !address.to.contains(&person) {
                address.to.push(person);
            }
            address.at_start = true;
            rest = after.trim_start_matches(|c: char| c.is_whitespace() || [':', ',', '>'].contains(&c));
            if !marked {
                break;
            }
        }
        address.text_from = text.len() - rest.len();
        address
    }

    /// Those named anywhere in `text`, in order.
    fn named(&self, text: &str, author: Person) -> Vec<Person> {
        let mut found = Vec::new();
        for word in text.split_whitespace() {
            let name = bare(word);
            // Two letters are too often no name.
            if !word.starts_with('@') && (name.chars().count() < 3 || is_everyday(name)) {
                continue;
            }
            if let Some(person) = self.find(name)
                && person != author
                && !found.contains(&person)
            {
                found.push(person);
            }
            if found.len() == NAMES_MAX {
                break;
            }
        }
        found
    }
}

fn fold(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// `word` without the signs that stand around a name.
fn bare(word: &str) -> &str {
    word.trim_start_matches(['@', '(', '"', '<']).trim_end_matches([':', ',', '>', ';', '!', '?', '.', ')', '"'])
}

/// "ann : look" and "ann , look" call her; "ann :)" does not.
fn starts_with_mark(after: &str) -> bool {
    let after = after.trim_start();
    ["：", ": ", ", ", "> "].iter().any(|mark| after.starts_with(mark))
}

fn is_everyday(name: &str) -> bool {
    EVERYDAY.contains(&format!(" {} ", fold(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> (People, Person, Person, Person) {
        let mut people = People::default();
        let (ann, bob, root) = (people.meet("Ann"), people.meet("|bob|"), people.meet("root"));
        (people, ann, bob, root)
    }

    #[test]
    fn a_name_at_the_start_is_an_address() {
        let (people, ann, bob, root) = room();
        for (text, to, proper) in [
            ("ann: look", vec![ann], "look"),
            ("ANN, look", vec![ann], "look"),
            ("@ann look", vec![ann], "look"),
            ("ann look", vec![ann], "look"),
            ("ann : look", vec![ann], "look"),
            ("ann> look", vec![ann], "look"),
            ("ann, |bob|: look", vec![ann, bob], "look"),
            ("root: look", vec![root], "look"),
        ] {
            let author = if to.contains(&root) { ann } else { root };
            let address = people.addressed(text, &[], author);
            assert_eq!((&address.to, address.at_start, &text[address.text_from..]), (&to, true, proper), "{text}");
        }
    }

    #[test]
    fn a_name_inside_is_an_address_unless_it_is_an_everyday_word() {
        let (people, ann, _, root) = room();
        assert_eq!(people.addressed("thanks, ann!", &[], root).to, vec![ann]);
        assert_eq!(people.addressed("become root first", &[], ann).to, vec![]);
        assert_eq!(people.addressed("ask @root", &[], ann).to, vec![root]);
        assert_eq!(people.addressed("root is a user", &[], ann).to, vec![]);
    }

    #[test]
    fn nobody_speaks_to_themselves() {
        let (people, ann, ..) = room();
        assert_eq!(people.addressed("ann: test", &["ann"], ann).to, vec![]);
    }

    #[test]
    fn a_platforms_mention_is_an_address_and_an_unknown_one_a_stranger() {
        let (people, ann, bob, _) = room();
        assert_eq!(people.addressed("look", &["ann"], bob).to, vec![ann]);
        assert!(people.addressed("look", &["carl"], bob).to_stranger);
        assert!(people.addressed("carl: look", &[], bob).to_stranger);
    }

    #[test]
    fn a_change_of_name_keeps_the_person() {
        let (mut people, ann, ..) = room();
        people.rename("ann", "ann_away");
        assert_eq!(people.meet("Ann_Away"), ann);
    }

    #[test]
    fn any_text_is_read() {
        let (people, ann, ..) = room();
        for text in ["", " ", ":", "@", "ann", "ann:", "：", "é: x", "\u{0}", "|bob| :)", "|bob|:\né"] {
            let address = people.addressed(text, &[""], ann);
            assert!(text.is_char_boundary(address.text_from), "{text:?}");
        }
    }
}
