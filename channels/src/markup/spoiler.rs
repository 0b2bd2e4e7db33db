//! `||spoilers||`, which CommonMark does not know.

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, Tag};

/// An event of the Markdown parser, or one end of a spoiler.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item<'a> {
    /// What the parser said.
    Markdown(Event<'a>),
    /// Here a spoiler begins.
    SpoilerStart,
    /// Here it ends.
    SpoilerEnd,
}

/// Finds the pairs of `||` that stand in one run of text, with other marks wholly inside or outside of them.
pub(super) fn pair<'a>(
    source: &'a str,
    events: impl Iterator<Item = (Event<'a>, Range<usize>)>,
) -> Vec<(Item<'a>, Range<usize>)> {
    let mut pairing = Pairing { source, items: Vec::new(), pending: vec![None], end: 0 };
    let mut in_code = false;
    for (event, range) in events {
        match &event {
            Event::Text(text) if !in_code && source.get(range.clone()) == Some(text) => {
                pairing.text(range);
                continue;
            }
            Event::Start(tag) => {
                in_code |= matches!(tag, Tag::CodeBlock(_));
                if !is_inline(tag) {
                    pairing.forget();
                }
                pairing.pending.push(None);
                pairing.end = range.start;
            }
            Event::End(_) => {
                in_code = false;
                pairing.pending.pop();
                pairing.end = range.end;
            }
            _ => pairing.end = range.end,
        }
        pairing.items.push((Item::Markdown(event), range));
    }
    pairing.items
}

struct Pairing<'a> {
    source: &'a str,
    items: Vec<(Item<'a>, Range<usize>)>,
    /// For each open tag the item that may turn out to begin a spoiler.
    pending: Vec<Option<usize>>,
    /// Where the last event ended.
    end: usize,
}

impl Pairing<'_> {
    /// Text that stands in the source as it is.
    fn text(&mut self, range: Range<usize>) {
        let escaped = range.start > self.end && self.source[..range.start].ends_with('\\');
        let (mut from, mut look) = (range.start, range.start + usize::from(escaped));
        while let Some(found) = self.source.get(look..range.end).and_then(|text| text.find("||")) {
            let bars = look + found..look + found + 2;
            self.plain(from..bars.start);
            self.bars(bars.clone());
            (from, look) = (bars.end, bars.end);
        }
        self.plain(from..range.end);
        self.end = range.end;
    }

    fn plain(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            let text = Event::Text(CowStr::Borrowed(&self.source[range.clone()]));
            self.items.push((Item::Markdown(text), range));
        }
    }

    fn bars(&mut self, range: Range<usize>) {
        let here = self.items.len();
        let pending = self.pending.last_mut().expect("one more than there are open tags");
        match *pending {
            // Something must stand between the two.
            Some(start) if start + 1 < here => {
                self.items[start].0 = Item::SpoilerStart;
                self.items.push((Item::SpoilerEnd, range));
                *pending = None;
            }
            _ => {
                *pending = Some(here);
                self.plain(range);
            }
        }
    }

    /// A block begins: what was open in the text before it stays plain text.
    fn forget(&mut self) {
        if let Some(pending) = self.pending.last_mut() {
            *pending = None;
        }
    }
}

fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. })
}
