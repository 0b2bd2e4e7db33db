//! Takes known secrets out of texts, whole ones and those that come in pieces.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use aho_corasick::AhoCorasick;

use super::view::Views;
use super::{REDACTED, Secret, forms};

/// Takes known secrets out of texts. One is shared by the whole hive; what is added holds from then on.
///
/// A secret is found as it is, inside of up to three layers of JSON or URL escapes in whichever spelling, in hexadecimal,
/// and in Base64 of either alphabet, also where it is only a part of what was encoded or the lines are wrapped.
///
/// Scrub first, cut afterwards: half a secret is not found. A text that comes in pieces goes through a [`ScrubStream`].
///
/// A secret shorter than [`Scrub::LENGTH_MIN`] is not taken out: it would mangle ordinary text.
#[derive(Clone, Debug, Default)]
pub struct Scrub(Arc<RwLock<Known>>);

/// Everything that was learned.
#[derive(Default)]
struct Known {
    forms: BTreeSet<String>,
    longest: usize,
    /// Made at the first use after a secret was learned: at the start many are learned at once.
    search: OnceLock<Search>,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// What looks for all forms at once.
struct Search {
    automaton: AhoCorasick,
    /// The forms, sorted.
    forms: Vec<Box<str>>,
    /// The longest form, in bytes.
    longest: usize,
}

impl Scrub {
    /// The shortest secret that is taken out of texts, in bytes.
    pub const LENGTH_MIN: usize = 8;

    /// Knows nothing yet.
    pub fn new() -> Self {
        Scrub::default()
    }

    /// Learns a secret, in all its forms.
    pub fn learn(&self, secret: &Secret) {
        let value = secret.expose();
        let forms = forms::of(value, Self::LENGTH_MIN);
        if self.known().forms.is_superset(&forms) {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let longest = forms.iter().map(String::len).max().unwrap_or(0).max(forms::longest_escaped(value));
        known.longest = known.longest.max(longest);
        known.forms.extend(forms);
        known.search = OnceLock::new();
    }

    /// The text without the secrets.
    pub fn clean(&self, text: &str) -> String {
        self.known().search().map_or_else(|| text.to_owned(), |search| search.sweep(text, 0, true).safe)
    }

    /// The text without the secrets, and without an end that could be the beginning of one: what of an unfinished text
    /// may be shown.
    pub fn clean_unfinished(&self, text: &str) -> String {
        self.known().search().map_or_else(|| text.to_owned(), |search| search.sweep(text, 0, false).safe)
    }

    /// Whether a secret stands in the text, in any form.
    pub fn finds_in(&self, text: &str) -> bool {
        self.known().search().is_some_and(|search| !search.spans(&Views::of(text, true)).is_empty())
    }

    /// A scrubber for one text that comes in pieces.
    pub fn stream(&self) -> ScrubStream {
        ScrubStream { scrub: self.clone(), held: String::new(), covered: 0 }
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// `None` where nothing is known.
    fn search(&self) -> Option<&Search> {
        if self.forms.is_empty() {
            return None;
        }
        Some(self.search.get_or_init(|| Search {
            automaton:
                AhoCorasick::new(&self.forms).expect("all secrets together have less than two thousand million bytes"),
            forms: self.forms.iter().map(|form| form.as_str().into()).collect(),
            longest: self.forms.iter().map(String::len).max().unwrap_or(0),
        }))
    }
}

/// What came of a text.
struct Swept {
    /// What can be told.
    safe: String,
    /// From where on the rest has to wait for more.
    held: usize,
    /// How many bytes of the rest belong to a secret that was marked already.
    covered: usize,
}

impl Search {
    /// Takes the secrets out. `covered`: so many bytes belong to a secret whose mark was written before. `whole`: nothing
    /// comes after this text.
    fn sweep(&self, text: &str, covered: usize, whole: bool) -> Swept {
        let views = Views::of(text, whole);
        let mut spans = self.spans(&views);
        if covered > 0 {
            spans.push((0, covered));
        }
        let held = if whole { text.len() } else { self.held(text, &views) };
        let (mut safe, mut at) = (String::with_capacity(text.len()), 0);
        for (begin, end) in merged(spans) {
            let marked = begin == 0 && covered > 0;
            if begin >= held && !marked {
                break;
            }
            safe.push_str(&text[at..begin]);
            if !marked {
                safe.push_str(REDACTED);
            }
            at = end;
        }
        if at < held {
            safe.push_str(&text[at..held]);
        }
        Swept { safe, held, covered: at.saturating_sub(held) }
    }

    /// Where secrets stand, in no order.
    fn spans(&self, views: &Views<'_>) -> Vec<(usize, usize)> {
        let mut spans = Vec::new();
        for (number, bytes) in views.each() {
            let found = self.automaton.find_overlapping_iter(bytes);
            spans.extend(found.map(|found| (views.begin(number, found.start()), views.end(number, found.end()))));
        }
        spans
    }

    /// From where on a secret could begin that is not complete.
    fn held(&self, text: &str, views: &Views<'_>) -> usize {
        let in_view = |(number, bytes): (usize, &[u8])| {
            let beginning = views.begin(number, bytes.len() - self.beginning_at_end(bytes));
            beginning.min(views.pending(number))
        };
        let held = views.each().map(in_view).min().unwrap_or(text.len());
        text.floor_char_boundary(views.seam(held))
    }

    /// How many bytes at the end are the beginning of a form, but not all of it; the most there are.
    fn beginning_at_end(&self, bytes: &[u8]) -> usize {
        let most = bytes.len().min(self.longest.saturating_sub(1));
        let begins = |end: &[u8]| {
            let first = self.forms.partition_point(|form| form.as_bytes() <= end);
            self.forms.get(first).is_some_and(|form| form.as_bytes().starts_with(end))
        };
        (1..=most).rev().find(|length| begins(&bytes[bytes.len() - length..])).unwrap_or(0)
    }
}

/// The spans in order, with those that overlap made one.
fn merged(mut spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    spans.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::with_capacity(spans.len());
    for (begin, end) in spans {
        match merged.last_mut() {
            Some(last) if begin < last.1 => last.1 = last.1.max(end),
            _ => merged.push((begin, end)),
        }
    }
    merged
}

/// Takes secrets out of a text that comes in pieces, wherever it is cut: what it gives is, put together, what
/// [`Scrub::clean`] makes of the whole. It holds back what could be the beginning of a secret, and no more.
pub struct ScrubStream {
    scrub: Scrub,
    held: String,
    covered: usize,
}

impl ScrubStream {
    /// Takes the next piece, gives what can be told by now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let known = self.scrub.known();
        let Some(search) = known.search() else { return std::mem::take(&mut self.held) };
        let swept = search.sweep(&self.held, self.covered, false);
        self.held.drain(..swept.held);
        self.covered = swept.covered;
        swept.safe
    }

    /// What was held back: nothing comes any more.
    pub fn finish(self) -> String {
        let known = self.scrub.known();
        match known.search() {
            Some(search) => search.sweep(&self.held, self.covered, true).safe,
            None => self.held.clone(),
        }
    }
}

impl fmt::Debug for ScrubStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScrubStream").field("held_bytes", &self.held.len()).finish_non_exhaustive()
    }
}
