//! A text's title, sections and bullets.
//!
//! A section is known by the text of its heading, whatever the heading's level and the case of its letters. It ends at
//! the next heading of its level or above it, or at the next section that is known: a heading below it is part of it,
//! and an empty section stays empty. What looks like a heading in a fence, a list or a quotation is none.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::bullet::{Bullet, bare};
use super::fault::Fault;
use super::front::{self, Front};

/// A text as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What stands above the text.
    pub front: Front,
    /// The text without its front matter.
    pub body: String,
    /// The first heading of the first level.
    pub title: Option<Heading>,
    /// Every heading, in the order of the text.
    pub headings: Vec<Heading>,
    /// How many points its lists have.
    pub points: usize,
    /// The first paragraph that stands in none of the known sections, on one line; empty where there is none.
    pub lead: String,
    /// The known sections, in the order of the text.
    pub sections: Vec<Section>,
}

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its text, on one line.
    pub text: String,
    /// Its line in the file.
    pub line: usize,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name it is known by.
    pub name: &'static str,
    /// The line of its heading in the file.
    pub line: usize,
    /// What stands below its heading.
    pub text: String,
    /// The bullets of the lists that stand directly in it.
    pub bullets: Vec<Bullet>,
}

impl Document {
    /// Reads a text. `known` are the names of the sections that are looked for, in lower case.
    pub fn read(file: &str, text: &str, known: &[&'static str], faults: &mut Vec<Fault>) -> Document {
        let (front, body, first_line) = front::split(file, text, faults);
        let blocks = Blocks::of(body);
        let ends: Vec<usize> = body.match_indices('\n').map(|(at, _)| at).collect();
        let line = |at: usize| first_line + ends.partition_point(|end| *end < at);
        let spans = spans(&blocks.headings, known, body.len());
        for at in &blocks.open_fences {
            let message = "the fence that opens here never closes, and all that follows is code: close it";
            faults.push(Fault::warning(file, Some(line(*at)), message));
        }
        for (at, name) in blocks.paragraphs.iter().flat_map(|range| nearly_headings(body, range, known)) {
            let message = format!("this is no heading, and opens no section: write `## {}`", capitalised(name));
            faults.push(Fault::warning(file, Some(line(at)), message));
        }
        let sections = spans.iter().map(|span| Section {
            name: span.name,
            line: line(span.heading_at),
            text: body[span.inside.clone()].trim().to_owned(),
            bullets: blocks
                .bullets
                .iter()
                .filter(|(at, _)| span.inside.contains(at))
                .map(|(at, text)| Bullet { line: line(*at), text: text.clone() })
                .collect(),
        });
        let heading = |title: &Title| Heading { text: title.text.clone(), line: line(title.range.start) };
        let title = blocks.headings.iter().find(|heading| heading.level == HeadingLevel::H1);
        let free = |range: &&Range<usize>| !spans.iter().any(|span| span.inside.contains(&range.start));
        Document {
            sections: sections.collect(),
            title: title.map(heading),
            headings: blocks.headings.iter().map(heading).collect(),
            points: blocks.bullets.len(),
            lead: blocks.paragraphs.iter().find(free).map(|range| one_line(&body[range.clone()])).unwrap_or_default(),
            body: body.trim().to_owned(),
            front,
        }
    }

    /// What the heading says that the text is: with `agent`, the `react-dev` of `# Agent: react-dev`, and its line. The
    /// title says it, else the first heading. One that only begins with the word says nothing; that is a fault.
    pub(crate) fn titled(&self, file: &str, word: &str, faults: &mut Vec<Fault>) -> Option<(&str, usize)> {
        let mut candidates = self.title.iter().chain(self.headings.first());
        if let Some(found) =
            candidates.clone().find_map(|heading| Some((after_word(&heading.text, word)?, heading.line)))
        {
            return Some(found);
        }
        let nearly = candidates.find_map(|heading| Some((behind_word(&heading.text, word)?.trim(), heading.line)));
        if let Some((rest, line)) = nearly.filter(|(rest, _)| rest.contains(char::is_alphanumeric)) {
            let word = capitalised(word);
            let message =
                format!("`{word} {0}` names nothing: write `# {word}: {0}` if that is its name", quoted(rest));
            faults.push(Fault::warning(file, Some(line), message));
        }
        None
    }

    /// Whether it has a heading of that name, in lower case.
    pub(crate) fn has_heading(&self, name: &str) -> bool {
        self.headings.iter().any(|heading| key(&heading.text) == name)
    }

    /// The section of that name. Several are read as one; that is a fault.
    pub fn section(&self, file: &str, name: &'static str, faults: &mut Vec<Fault>) -> Option<Section> {
        let mut all = self.sections.iter().filter(|section| section.name == name);
        let mut whole = all.next()?.clone();
        for again in all {
            let message = format!("there are two sections `{}`, read as one: write one", capitalised(name));
            faults.push(Fault::warning(file, Some(again.line), message));
            whole.text = format!("{}\n\n{}", whole.text, again.text).trim().to_owned();
            whole.bullets.extend(again.bullets.iter().cloned());
        }
        Some(whole)
    }

    /// The section of that name; without it, or where nothing stands in it, a fault.
    pub fn expected(&self, file: &str, name: &'static str, faults: &mut Vec<Fault>) -> Option<Section> {
        let section = self.section(file, name, faults);
        let heading = capitalised(name);
        match &section {
            None => faults.push(Fault::warning(file, None, format!("it has no section `## {heading}`: write one"))),
            Some(section) if section.text.is_empty() => {
                let message = format!("the section `{heading}` is empty: fill it");
                faults.push(Fault::warning(file, Some(section.line), message));
            }
            Some(_) => {}
        }
        section
    }
}

/// A known section's place in the body.
struct Span {
    name: &'static str,
    heading_at: usize,
    inside: Range<usize>,
}

fn spans(headings: &[Title], known: &[&'static str], end: usize) -> Vec<Span> {
    let named = |title: &Title| known.iter().copied().find(|name| *name == key(&title.text));
    let mut spans = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        let Some(name) = named(heading) else { continue };
        let ends = |next: &&Title| next.level <= heading.level || named(next).is_some();
        let next = headings[at + 1..].iter().find(ends).map_or(end, |next| next.range.start);
        let from = heading.range.end.min(next);
        spans.push(Span { name, heading_at: heading.range.start, inside: from..next });
    }
    spans
}

/// A heading's text as it is compared: `Communication-Style:` is `communication style`.
fn key(text: &str) -> String {
    let text = text.trim().trim_end_matches(':').to_lowercase().replace(['-', '_'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands behind `Word:` or `Word —` at the beginning of a heading.
fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = behind_word(text, word)?;
    let dashed = rest.starts_with(char::is_whitespace).then(|| rest.trim_start().strip_prefix("- ")).flatten();
    let name = dashed.or_else(|| rest.trim_start().strip_prefix([':', '–', '—']))?;
    (!name.trim().is_empty()).then(|| bare(name))
}

/// What stands behind a word at the beginning of a heading; nothing where it goes on as another word.
fn behind_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let text = text.trim();
    let (head, rest) = text.split_at_checked(word.len())?;
    let ends = rest.starts_with([':', '–', '—']) || rest.starts_with(char::is_whitespace);
    (head.eq_ignore_ascii_case(word) && ends).then_some(rest)
}

/// A part of a text in a fault: short, and without what would end the back-ticks around it.
fn quoted(text: &str) -> String {
    base::text::cut(&super::shown(text).replace('`', "'"), 60)
}

fn capitalised(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A line that was meant as a heading: `##Role`, or `**Role**` and `**Role:** …`.
fn nearly_headings<'k>(
    body: &str,
    paragraph: &Range<usize>,
    known: &'k [&'static str],
) -> impl Iterator<Item = (usize, &'k str)> {
    let mut found = Vec::new();
    let mut at = paragraph.start;
    for line in body[paragraph.clone()].split_inclusive('\n') {
        let marks = line.trim_start();
        let text = ["**", "__", "#"].iter().find(|mark| marks.starts_with(**mark)).map(|_| marks);
        let text = text.map(|text| text.trim_start_matches(['#', '*', '_', ' ']));
        let text = text.and_then(|text| text.split(['*', '_', ':', '\n']).next());
        if let Some(name) = text.and_then(|text| known.iter().find(|name| **name == key(text))) {
            found.push((at, *name));
        }
        at += line.len();
    }
    found.into_iter()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A heading that stands in nothing else.
struct Title {
    level: HeadingLevel,
    text: String,
    range: Range<usize>,
}

/// The blocks of a body that stand in nothing else, and the bullets of its lists.
#[derive(Default)]
struct Blocks {
    headings: Vec<Title>,
    paragraphs: Vec<Range<usize>>,
    /// Where each bullet begins, and its text.
    bullets: Vec<(usize, String)>,
    /// Where fences begin that never end.
    open_fences: Vec<usize>,
}

impl Blocks {
    fn of(body: &str) -> Blocks {
        let mut walk = Walk::default();
        let options = Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES;
        for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
            walk.take(body, event, range);
        }
        walk.blocks
    }
}

/// What is open while the events go by.
#[derive(Default)]
struct Walk {
    blocks: Blocks,
    /// How many blocks are open, lists and their items not counted.
    depth: usize,
    /// How many lists are open.
    lists: usize,
    /// The text of the heading or bullet that is open.
    text: Option<String>,
}

impl Walk {
    fn take(&mut self, body: &str, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(body, &tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Code(text) => self.push(&text),
            Event::SoftBreak | Event::HardBreak => self.push(" "),
            _ => {}
        }
    }

    fn push(&mut self, more: &str) {
        if let Some(text) = &mut self.text {
            text.push_str(more);
        }
    }

    fn start(&mut self, body: &str, tag: &Tag<'_>, range: Range<usize>) {
        let free = self.depth == 0 && self.lists == 0;
        match tag {
            Tag::Heading { level, .. } => {
                self.close_bullet();
                if free {
                    self.text = Some(String::new());
                    self.blocks.headings.push(Title { level: *level, text: String::new(), range });
                }
                self.depth += 1;
            }
            Tag::Paragraph if free => self.blocks.paragraphs.push(range),
            Tag::List(_) => {
                self.close_bullet();
                self.lists += 1;
            }
            Tag::Item if self.depth == 0 && self.lists == 1 => {
                self.blocks.bullets.push((range.start, String::new()));
                self.text = Some(String::new());
            }
            Tag::CodeBlock(kind) => {
                self.close_bullet();
                if matches!(kind, CodeBlockKind::Fenced(_)) && !is_closed(&body[range.clone()]) {
                    self.blocks.open_fences.push(range.start);
                }
                self.depth += 1;
            }
            tag if is_block(tag) => {
                self.close_bullet();
                self.depth += 1;
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0
                    && self.lists == 0
                    && let (Some(text), Some(heading)) = (self.text.take(), self.blocks.headings.last_mut())
                {
                    heading.text = one_line(&text);
                }
            }
            // The first paragraph of a bullet is the bullet.
            TagEnd::Paragraph | TagEnd::Item if self.lists > 0 => self.close_bullet(),
            TagEnd::List(_) => {
                self.close_bullet();
                self.lists = self.lists.saturating_sub(1);
            }
            TagEnd::CodeBlock
            | TagEnd::BlockQuote(_)
            | TagEnd::HtmlBlock
            | TagEnd::FootnoteDefinition
            | TagEnd::Table => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    /// What follows in the bullet that is open is not its name.
    fn close_bullet(&mut self) {
        if self.lists > 0
            && let (Some(text), Some((_, bullet))) = (self.text.take(), self.blocks.bullets.last_mut())
        {
            *bullet = one_line(&text);
        }
    }
}

/// Whether a tag opens a block whose inside belongs to it alone, and [`Walk::end`] closes it.
fn is_block(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::BlockQuote(_) | Tag::HtmlBlock | Tag::FootnoteDefinition(_) | Tag::Table(_))
}

/// Whether the last line of a fenced block is a fence as long as its first.
fn is_closed(block: &str) -> bool {
    let fence = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '>']);
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        Some((mark, length, line.chars().skip(length).all(char::is_whitespace)))
    };
    let mut lines = block.trim_end().lines();
    let (Some(first), Some(last)) = (lines.next().and_then(fence), lines.next_back().and_then(fence)) else {
        return false;
    };
    last.0 == first.0 && last.1 >= first.1 && last.2
}
