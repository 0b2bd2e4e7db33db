//! What stands in a line: text, code, and the styles around them.

use std::ops::Range;

use super::super::dialect::Linked;
use super::super::table::Table;
use super::super::{Atom, Dialect, Mark, Style};
use super::{Before, Reader};

impl Reader<'_> {
    /// Where text goes: the cell of a table, or the text itself.
    fn sink(&mut self) -> &mut String {
        match self.table.as_mut().and_then(Table::text) {
            Some(cell) => cell,
            None => &mut self.plain,
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.sink().push_str(text);
        self.before = Before::Text;
    }

    /// Text that stands in the markup as `raw`.
    fn push_atom(&mut self, text: &str, raw: String) {
        let start = self.plain.len();
        self.push(text);
        // In a cell nothing is marked: it becomes a block of code.
        if self.table.is_none() {
            self.atoms.push(Atom { range: start..self.plain.len(), raw });
        }
    }

    pub(super) fn text(&mut self, text: &str, range: Range<usize>) {
        if self.in_code_block {
            return self.block_lines(text);
        }
        self.inline(range.start);
        let escaped = range.start > self.end && self.source[..range.start].ends_with('\\');
        let as_written = self.source.get(range) == Some(text);
        for (index, c) in text.char_indices() {
            let was_escaped = escaped && index == 0;
            if as_written && !was_escaped {
                return self.push(&text[index..]);
            }
            match self.dialect.literal(c) {
                Some(raw) => self.push_atom(c.encode_utf8(&mut [0; 4]), raw),
                None => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    pub(super) fn code(&mut self, text: &str, at: usize) {
        self.inline(at);
        let start = self.plain.len();
        self.ticked(text, 2);
        if self.table.is_none() && !text.is_empty() {
            let ticks = match (text.contains('`'), text.starts_with('`') || text.ends_with('`')) {
                (false, _) => "`",
                (true, false) => "``",
                (true, true) => "`` ",
            };
            self.marks.push(Mark { range: start..self.plain.len(), style: Style::Code(ticks) });
        }
    }

    /// Lines of a block of code or of a table: without indent where the platform sets the block off.
    pub(super) fn block_lines(&mut self, text: &str) {
        if self.dialect.has_blocks() {
            return self.ticked(text, 3);
        }
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.newline();
            }
            self.push(line);
        }
    }

    /// Code in which `run` back-ticks in a row would end it on Discord: an invisible space parts them.
    fn ticked(&mut self, text: &str, run: usize) {
        let ticks = "`".repeat(run);
        let mut rest = text;
        while self.dialect == Dialect::Discord
            && let Some(at) = rest.find(&ticks)
        {
            self.push(&rest[..at]);
            let length = rest[at..].chars().take_while(|c| *c == '`').count();
            for _ in 0..length {
                self.push_atom("`", "`\u{200b}".to_owned());
            }
            rest = &rest[at + length..];
        }
        self.push(rest);
    }

    /// Raw HTML, as text.
    pub(super) fn lines(&mut self, text: &str, at: usize) {
        self.inline(at);
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.line_break();
            }
            self.push(line);
        }
    }

    pub(super) fn line_break(&mut self) {
        if self.in_heading || self.table.is_some() {
            self.push(" ");
        } else {
            self.newline();
        }
    }

    /// Before anything that stands in a line. In a tight list no paragraph announces it.
    pub(super) fn inline(&mut self, at: usize) {
        if self.before == Before::Block && self.table.is_none() {
            self.gap(at);
        }
    }

    pub(super) fn open(&mut self, style: Style, at: usize) {
        self.inline(at);
        let opens = self.dialect.open(&style);
        let is_link = |style: &Style| matches!(style, Style::Link { .. } | Style::Autolink { .. });
        let shown_already = self.open.iter().filter_map(|(open, _)| open.as_ref()).any(|open| {
            std::mem::discriminant(open) == std::mem::discriminant(&style)
                || self.dialect.open(open) == opens
                || is_link(open) && is_link(&style)
        });
        let start = self.sink().len();
        // A link must be kept all the same, for its URL may have to be spelled out.
        self.open.push(((!shown_already || is_link(&style)).then_some(style), start));
    }

    pub(super) fn close(&mut self) {
        let Some((Some(style), start)) = self.open.pop() else { return };
        let range = start..self.plain.len();
        if self.table.is_none() && !range.is_empty() && !self.plain[range.clone()].trim().is_empty() {
            self.marks.push(Mark { range, style });
        }
    }

    pub(super) fn close_link(&mut self) {
        let (url, is_autolink) = match self.open.last() {
            Some((Some(Style::Link { url }), _)) => (url.clone(), false),
            Some((Some(Style::Autolink { url }), _)) => (url.clone(), true),
            _ => return self.close(),
        };
        let (_, start) = self.open.pop().expect("it was just looked at");
        if self.sink()[start..].trim().is_empty() {
            self.push(&url);
        }
        let is_nested = self.open.iter().any(|(open, _)| matches!(open, Some(Style::Link { .. })));
        let is_in_table = self.table.is_some();
        let linked = match self.dialect.link(&url, self.sink().get(start..).unwrap_or_default()) {
            Linked::Marked(_) if is_nested => Linked::Bare,
            Linked::Marked(_) if is_in_table => Linked::Spelled,
            linked => linked,
        };
        let range = start..self.plain.len();
        match linked {
            Linked::Marked(url) => self.marks.push(Mark { range, style: Style::Link { url } }),
            Linked::Bare if is_autolink && self.dialect == Dialect::Discord && !is_in_table && url.contains("://") => {
                self.marks.push(Mark { range, style: Style::Autolink { url } });
            }
            Linked::Bare => {}
            Linked::Spelled => self.push(&format!(" ({url})")),
        }
    }
}
