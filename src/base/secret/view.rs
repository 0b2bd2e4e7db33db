//! A text as it reads once its escapes are taken off, with the way back to where each byte came from.
//!
//! One text has several views: JSON escapes off, URL escapes off, line breaks out, one after the other. A secret that
//! stands in any of them stands in the text.

use std::borrow::Cow;

/// How many escapes may lie around one another: a JSON text in a JSON text in a URL.
const DEPTH_MAX: usize = 3;

/// What is taken off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// `\"`, `\u00e9`, `\x41`.
    Json,
    /// `%2F`.
    Url,
    /// `%2F`, and `+` for a space.
    Form,
    /// Line breaks, with which encoders wrap long lines.
    Wrap,
}

/// One way to read a text.
struct View<'a> {
    bytes: Cow<'a, [u8]>,
    /// (position here, position in the parent) wherever the distance between the two changes: the beginning and the
    /// end of everything that was taken off or decoded.
    marks: Vec<(usize, usize)>,
    /// From here on, in the parent, it cannot be said yet: an escape may be cut off.
    pending: usize,
    parent: Option<usize>,
    layer: Option<Layer>,
    depth: usize,
}

/// All ways to read a text.
pub(super) struct Views<'a>(Vec<View<'a>>);

impl<'a> Views<'a> {
    /// `whole`: nothing comes after this text, so an escape that is cut off is none.
    pub(super) fn of(text: &'a str, whole: bool) -> Self {
        let raw = View {
            bytes: Cow::Borrowed(text.as_bytes()),
            marks: vec![(0, 0)],
            pending: text.len(),
            parent: None,
            layer: None,
            depth: 0,
        };
        let mut views = vec![raw];
        let mut at = 0;
        while at < views.len() {
            for layer in [Layer::Json, Layer::Url, Layer::Form, Layer::Wrap] {
                if let Some(view) = views[at].without(layer, at, whole) {
                    views.push(view);
                }
            }
            at += 1;
        }
        Views(views)
    }

    /// Each view's number and bytes.
    pub(super) fn each(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.0.iter().map(|view| &*view.bytes).enumerate()
    }

    /// Where the byte at `at` of view `number` begins in the text.
    pub(super) fn begin(&self, number: usize, at: usize) -> usize {
        let view = &self.0[number];
        let here = view.begin(at);
        view.parent.map_or(here, |parent| self.begin(parent, here))
    }

    /// Where the bytes before `at` of view `number` end in the text.
    pub(super) fn end(&self, number: usize, at: usize) -> usize {
        let view = &self.0[number];
        let here = view.end(at);
        view.parent.map_or(here, |parent| self.end(parent, here))
    }

    /// From where on, in the text, view `number` cannot be read yet.
    pub(super) fn pending(&self, number: usize) -> usize {
        let view = &self.0[number];
        view.parent.map_or(view.pending, |parent| self.begin(parent, view.pending))
    }

    /// The last place at or before `at` where the text can be parted without parting an escape in any view.
    pub(super) fn seam(&self, at: usize) -> usize {
        let mut seam = at;
        loop {
            let lower = (0..self.0.len()).map(|number| self.seam_of(number, seam)).min().unwrap_or(seam);
            if lower >= seam {
                return seam;
            }
            seam = lower;
        }
    }

    fn seam_of(&self, number: usize, at: usize) -> usize {
        let view = &self.0[number];
        let Some(parent) = view.parent else { return at };
        let in_parent = self.locate(parent, at);
        self.begin(parent, view.seam(in_parent)).min(at)
    }

    /// The byte of view `number` in which the text's byte `at` went.
    fn locate(&self, number: usize, at: usize) -> usize {
        let view = &self.0[number];
        view.parent.map_or(at, |parent| view.locate(self.locate(parent, at)))
    }
}

impl View<'_> {
    /// The view with this layer off, if it is there at all and worth a look.
    fn without(&self, layer: Layer, number: usize, whole: bool) -> Option<View<'static>> {
        let clash = matches!((self.layer, layer), (Some(Layer::Url), Layer::Form) | (Some(Layer::Form), Layer::Url));
        // Encoders wrap what they have encoded: line breaks are the outermost of what is looked for in a view.
        let deep = self.depth == DEPTH_MAX && layer != Layer::Wrap;
        if clash || deep || self.layer == Some(Layer::Wrap) {
            return None;
        }
        let there = match layer {
            Layer::Json => self.bytes.contains(&b'\\'),
            Layer::Url => self.bytes.contains(&b'%'),
            Layer::Form => self.bytes.contains(&b'+'),
            Layer::Wrap => self.bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n')),
        };
        if !there {
            return None;
        }
        let mut taken = Taken { bytes: Vec::with_capacity(self.bytes.len()), marks: vec![(0, 0)], changed: false };
        let pending = match layer {
            Layer::Json => taken.json(&self.bytes, whole),
            Layer::Url => taken.url(&self.bytes, whole, false),
            Layer::Form => taken.url(&self.bytes, whole, true),
            Layer::Wrap => taken.unwrap_lines(&self.bytes),
        };
        let Taken { bytes, marks, changed } = taken;
        let view = View {
            bytes: Cow::Owned(bytes),
            marks,
            pending,
            parent: Some(number),
            layer: Some(layer),
            depth: self.depth + 1,
        };
        (changed || pending < self.bytes.len()).then_some(view)
    }

    fn begin(&self, at: usize) -> usize {
        let (here, there) = self.marks[self.marks.partition_point(|mark| mark.0 <= at) - 1];
        there + (at - here)
    }

    fn end(&self, at: usize) -> usize {
        let next = self.marks.partition_point(|mark| mark.0 < at);
        match self.marks.get(next) {
            Some((here, there)) if *here == at => *there,
            _ => {
                let (here, there) = self.marks[next.saturating_sub(1)];
                there + (at - here)
            }
        }
    }

    /// The number of the stretch in which the parent's byte `at` lies, and whether it went in as it is.
    fn stretch(&self, at: usize) -> (usize, bool) {
        let number = self.marks.partition_point(|mark| mark.1 <= at) - 1;
        let (here, there) = self.marks[number];
        let as_it_is = self.marks.get(number + 1).is_none_or(|next| next.0 - here == next.1 - there);
        (number, as_it_is)
    }

    fn seam(&self, at: usize) -> usize {
        let (number, as_it_is) = self.stretch(at);
        if as_it_is { at } else { self.marks[number].1 }
    }

    fn locate(&self, at: usize) -> usize {
        let (number, as_it_is) = self.stretch(at);
        let (here, there) = self.marks[number];
        if as_it_is { here + (at - there) } else { here }
    }
}

/// A view while it is made.
struct Taken {
    bytes: Vec<u8>,
    marks: Vec<(usize, usize)>,
    changed: bool,
}

/// What stands at a backslash or a percent sign.
enum Escape {
    /// These bytes, written with that many.
    Is(Vec<u8>, usize),
    /// No escape.
    Not,
    /// Perhaps one, if more comes.
    CutOff,
}

impl Taken {
    /// An escape of `length` bytes at `at` of the parent, which stands for `bytes`.
    fn put(&mut self, at: usize, length: usize, bytes: &[u8]) {
        self.marks.push((self.bytes.len(), at));
        self.bytes.extend_from_slice(bytes);
        self.marks.push((self.bytes.len(), at + length));
        self.changed = true;
    }

    fn json(&mut self, from: &[u8], whole: bool) -> usize {
        let mut at = 0;
        while let Some(next) = from[at..].iter().position(|byte| *byte == b'\\') {
            self.bytes.extend_from_slice(&from[at..at + next]);
            at += next;
            match json_escape(&from[at..]) {
                Escape::Is(bytes, length) => {
                    self.put(at, length, &bytes);
                    at += length;
                }
                Escape::CutOff if !whole => return at,
                Escape::CutOff | Escape::Not => {
                    self.bytes.push(b'\\');
                    at += 1;
                }
            }
        }
        self.bytes.extend_from_slice(&from[at..]);
        from.len()
    }

    fn url(&mut self, from: &[u8], whole: bool, plus: bool) -> usize {
        let mut at = 0;
        while at < from.len() {
            match from[at] {
                b'+' if plus => {
                    self.bytes.push(b' ');
                    self.changed = true;
                    at += 1;
                }
                b'%' => match hex_escape(&from[at + 1..], 2) {
                    Escape::Is(bytes, _) => {
                        self.put(at, 3, &bytes);
                        at += 3;
                    }
                    Escape::CutOff if !whole => return at,
                    Escape::CutOff | Escape::Not => {
                        self.bytes.push(b'%');
                        at += 1;
                    }
                },
                byte => {
                    self.bytes.push(byte);
                    at += 1;
                }
            }
        }
        from.len()
    }

    fn unwrap_lines(&mut self, from: &[u8]) -> usize {
        for (at, byte) in from.iter().enumerate() {
            match byte {
                b'\r' | b'\n' => self.put(at, 1, &[]),
                byte => self.bytes.push(*byte),
            }
        }
        from.len()
    }
}

/// What the backslash at the beginning of `from` stands for: JSON's escapes, and JavaScript's `\xNN` and `\'`.
fn json_escape(from: &[u8]) -> Escape {
    let one = |byte: u8| Escape::Is(vec![byte], 2);
    match from.get(1) {
        None => Escape::CutOff,
        Some(byte @ (b'"' | b'\\' | b'/' | b'\'')) => one(*byte),
        Some(b'b') => one(8),
        Some(b'f') => one(12),
        Some(b'n') => one(b'\n'),
        Some(b'r') => one(b'\r'),
        Some(b't') => one(b'\t'),
        Some(b'x') => match hex_escape(&from[2..], 2) {
            Escape::Is(bytes, _) => Escape::Is(bytes, 4),
            other => other,
        },
        Some(b'u') => unicode_escape(from),
        Some(_) => Escape::Not,
    }
}

/// `\uXXXX`, or two of them for a character beyond the first 65,536.
fn unicode_escape(from: &[u8]) -> Escape {
    let high = match unit(from) {
        Ok(unit) => unit,
        Err(escape) => return escape,
    };
    let written = |unit: u32, length: usize| match char::from_u32(unit) {
        Some(c) => Escape::Is(c.to_string().into_bytes(), length),
        None => Escape::Not,
    };
    if !(0xD800..0xDC00).contains(&high) {
        return written(high, 6);
    }
    match unit(&from[6..]) {
        Ok(low) if (0xDC00..0xE000).contains(&low) => written(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), 12),
        Ok(_) => Escape::Not,
        Err(escape) => escape,
    }
}

/// The number of the `\uXXXX` at the beginning of `from`; otherwise why there is none.
fn unit(from: &[u8]) -> Result<u32, Escape> {
    let head = &from[..from.len().min(2)];
    if head != &b"\\u"[..head.len()] {
        return Err(Escape::Not);
    }
    if head.len() < 2 {
        return Err(Escape::CutOff);
    }
    match hex_escape(&from[2..], 4) {
        Escape::Is(bytes, _) => Ok(bytes.iter().fold(0, |unit, byte| unit << 8 | u32::from(*byte))),
        other => Err(other),
    }
}

/// The bytes of the `digits` hexadecimal digits at the beginning of `from`.
fn hex_escape(from: &[u8], digits: usize) -> Escape {
    let there = &from[..from.len().min(digits)];
    let values: Option<Vec<u8>> =
        there.iter().map(|byte| char::from(*byte).to_digit(16).and_then(|digit| digit.try_into().ok())).collect();
    match values {
        None => Escape::Not,
        Some(values) if values.len() < digits => Escape::CutOff,
        Some(values) => Escape::Is(values.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect(), digits),
    }
}
