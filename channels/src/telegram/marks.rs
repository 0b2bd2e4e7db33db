//! The marked parts of a text: commands and mentions. Telegram counts in UTF-16 units; we cut UTF-8.

use std::ops::Range;

use teloxide::types::{MessageEntity, MessageEntityKind, User};

/// A text and what is marked in it.
#[derive(Debug)]
pub(super) struct Marked<'a> {
    pub text: &'a str,
    pub marks: Vec<Mark<'a>>,
}

/// A marked part.
#[derive(Debug)]
pub(super) struct Mark<'a> {
    /// Where it is in the text, in bytes.
    pub range: Range<usize>,
    pub kind: MarkKind<'a>,
}

/// What is marked there.
#[derive(Debug)]
pub(super) enum MarkKind<'a> {
    /// `/name` or `/name@bot`.
    Command,
    /// `@name`, without the `@`.
    Name(&'a str),
    /// Somebody, shown by any text.
    User(&'a User),
}

impl<'a> Marked<'a> {
    /// Reads Telegram's marks. A text that came without any is searched for commands at its start and for names, as
    /// not every server of the Bot API marks them.
    pub(super) fn new(text: &'a str, entities: &'a [MessageEntity]) -> Marked<'a> {
        let marks = if entities.is_empty() { found(text) } else { given(text, entities) };
        Marked { text, marks }
    }

    /// The command at the very start, and what follows it.
    pub(super) fn command(&self) -> Option<(&'a str, usize)> {
        let first = self.marks.iter().find(|mark| matches!(mark.kind, MarkKind::Command) && mark.range.start == 0)?;
        Some((&self.text[first.range.clone()], first.range.end))
    }
}

fn given<'a>(text: &'a str, entities: &'a [MessageEntity]) -> Vec<Mark<'a>> {
    let marks = entities.iter().filter_map(|entity| {
        let kind = match &entity.kind {
            MessageEntityKind::BotCommand => MarkKind::Command,
            MessageEntityKind::Mention => MarkKind::Name(""),
            MessageEntityKind::TextMention { user } => MarkKind::User(user),
            _ => return None,
        };
        let range = bytes(text, entity.offset, entity.length)?;
        let part = &text[range.clone()];
        let kind = match kind {
            MarkKind::Name(_) => MarkKind::Name(part.strip_prefix('@')?),
            MarkKind::Command if !part.starts_with('/') => return None,
            kind => kind,
        };
        Some(Mark { range, kind })
    });
    let mut marks: Vec<Mark<'_>> = marks.collect();
    marks.sort_by_key(|mark| mark.range.start);
    marks
}

/// The bytes that a range of UTF-16 units covers; `None` where it does not lie in the text.
fn bytes(text: &str, offset: usize, length: usize) -> Option<Range<usize>> {
    let end = offset.checked_add(length)?;
    let mut units = 0;
    let mut from = None;
    for (at, character) in text.char_indices() {
        if units == offset {
            from = from.or(Some(at));
        }
        if units >= end {
            return (units == end).then_some(from?..at);
        }
        units += character.len_utf16();
    }
    if units == offset {
        from = from.or(Some(text.len()));
    }
    (units == end).then_some(from?..text.len())
}

fn found(text: &str) -> Vec<Mark<'_>> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut marks = Vec::new();
    if let Some(after) = text.strip_prefix('/') {
        let length = after.find(char::is_whitespace).unwrap_or(after.len());
        let (name, bot) = after[..length].split_once('@').unwrap_or((&after[..length], "x"));
        if !name.is_empty() && !bot.is_empty() && name.chars().all(word) && bot.chars().all(word) {
            marks.push(Mark { range: 0..1 + length, kind: MarkKind::Command });
        }
    }
    for (at, _) in text.match_indices('@') {
        let free = !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '/'));
        let name = &text[at + 1..];
        let name = &name[..name.find(|c| !word(c)).unwrap_or(name.len())];
        let in_command = marks.first().is_some_and(|mark| mark.range.contains(&at));
        if free && !in_command && name.len() >= 3 {
            marks.push(Mark { range: at..at + 1 + name.len(), kind: MarkKind::Name(name) });
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn offsets_are_utf_16_units_and_a_range_outside_is_none() {
        let text = "a😀ß/x";
        assert_eq!(bytes(text, 0, 1), Some(0..1));
        assert_eq!(bytes(text, 1, 2), Some(1..5));
        assert_eq!(bytes(text, 4, 2), Some(7..9));
        assert_eq!(bytes(text, 6, 0), Some(9..9));
        for (offset, length) in [(2, 1), (1, 1), (4, 3), (7, 0), (usize::MAX, 1), (0, usize::MAX)] {
            assert_eq!(bytes(text, offset, length), None, "{offset} {length}");
        }
    }

    #[test]
    fn a_text_without_marks_is_searched_for_them() {
        let names = |text| {
            let marked = Marked::new(text, &[]);
            let texts: Vec<String> = marked.marks.iter().map(|mark| text[mark.range.clone()].to_owned()).collect();
            (marked.command().map(|(command, _)| command.to_owned()), texts)
        };
        assert_eq!(
            names("/a@some_bot @alice x"),
            (Some("/a@some_bot".into()), vec!["/a@some_bot".into(), "@alice".into()])
        );
        assert_eq!(names("mail a@b.org, (@carol)"), (None, vec!["@carol".into()]));
        for text in ["/usr/bin", "/", "/ä", " /x", "/x@"] {
            assert_eq!(names(text).0, None, "{text}");
        }
    }

    #[test]
    fn a_mark_on_what_it_cannot_be_is_no_mark() {
        let entity = |kind| MessageEntity::new(kind, 0, 1);
        let entities = [entity(MessageEntityKind::BotCommand), entity(MessageEntityKind::Mention)];
        assert!(Marked::new("ꟓ", &entities).marks.is_empty());
    }

    proptest! {
        #[test]
        fn a_range_of_units_is_the_same_text(text in "\\PC{0,12}", offset in 0_usize..14, length in 0_usize..14) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let expected = units.get(offset..offset + length).and_then(|units| String::from_utf16(units).ok());
            if let Some(range) = bytes(&text, offset, length) {
                prop_assert_eq!(Some(text[range].to_owned()), expected);
            } else if length > 0 && let Some(expected) = expected {
                // Only a range that begins or ends inside of a pair is refused, and such a half is no text.
                let whole = String::from_utf16(&units[..offset]).is_ok();
                prop_assert!(!whole, "{:?} was there", expected);
            }
        }
    }
}
