//! A range of a [`Flow`] as text in a platform's markup, complete in itself.

use std::ops::Range;

use super::{Atom, Dialect, Flow, Mark, Style};

/// Writes the range: what is open at its start is opened there, what is open at its end is closed there.
pub(super) fn write(flow: &Flow, dialect: Dialect, range: Range<usize>) -> String {
    let marks: Vec<&Mark> = flow.marks_in(&range).collect();
    let mut turns: Vec<usize> = marks.iter().flat_map(|mark| [mark.range.start, mark.range.end]).collect();
    turns.retain(|at| range.contains(at));
    turns.extend([range.start, range.end]);
    turns.sort_unstable();
    turns.dedup();
    let mut writer = Writer { dialect, out: String::with_capacity(range.len() * 2), open: Vec::new(), line: "" };
    let (mut atoms, mut coming) = (flow.atoms_in(&range), marks.into_iter().peekable());
    let mut active: Vec<&Mark> = Vec::new();
    for turn in turns.windows(2) {
        let (from, to) = (turn[0], turn[1]);
        active.retain(|mark| mark.range.end > from);
        while let Some(mark) = coming.next_if(|mark| mark.range.start <= from) {
            active.push(mark);
        }
        writer.turn_to(&shown(dialect, &active));
        let inside = atoms.partition_point(|atom| atom.range.end <= to);
        writer.text(flow.plain(), from..to, &atoms[..inside]);
        atoms = &atoms[inside..];
    }
    writer.turn_to(&[]);
    writer.out
}

/// Of the marks that hold here those that can be shown together.
///
/// Telegram's code takes nothing but a quote around it. A link and a spoiler say more than code does; the rest less.
fn shown<'a>(dialect: Dialect, active: &[&'a Mark]) -> Vec<&'a Mark> {
    let has = |wanted: fn(&Style) -> bool| active.iter().any(|mark| wanted(&mark.style));
    let is_code = |style: &Style| matches!(style, Style::Code(_));
    if dialect != Dialect::Telegram || !has(is_code) {
        return active.to_vec();
    }
    let says_more = |style: &Style| matches!(style, Style::Link { .. } | Style::Spoiler);
    let keep_code = !has(says_more);
    let kept = active.iter().filter(|mark| match &mark.style {
        Style::Code(_) => keep_code,
        Style::Quote => true,
        _ => !keep_code,
    });
    kept.copied().collect()
}

struct Writer<'a> {
    dialect: Dialect,
    out: String,
    open: Vec<&'a Mark>,
    /// What a new line begins with.
    line: &'static str,
}

impl<'a> Writer<'a> {
    /// Closes and opens until exactly these are open.
    fn turn_to(&mut self, wanted: &[&'a Mark]) {
        let same = self.open.iter().zip(wanted).take_while(|(open, wanted)| std::ptr::eq(**open, **wanted)).count();
        while self.open.len() > same {
            let mark = self.open.pop().expect("there are more than `same`");
            self.markup(&self.dialect.close(&mark.style));
            if !self.dialect.line(&mark.style).is_empty() {
                self.line = "";
            }
        }
        for mark in &wanted[same..] {
            self.markup(&self.dialect.open(&mark.style));
            let line = self.dialect.line(&mark.style);
            if !line.is_empty() {
                self.line = line;
            }
            self.open.push(mark);
        }
    }

    /// Plain text, with the atoms in it.
    fn text(&mut self, plain: &str, range: Range<usize>, atoms: &[Atom]) {
        let mut from = range.start;
        for atom in atoms {
            self.escaped(&plain[from..atom.range.start]);
            self.markup(&atom.raw);
            from = atom.range.end;
        }
        self.escaped(&plain[from..range.end]);
    }

    fn escaped(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.newline();
            }
            self.dialect.escape(line, &mut self.out);
        }
    }

    fn markup(&mut self, markup: &str) {
        for (index, line) in markup.split('\n').enumerate() {
            if index > 0 {
                self.newline();
            }
            self.out.push_str(line);
        }
    }

    fn newline(&mut self) {
        self.out.push('\n');
        self.out.push_str(self.line);
    }
}
