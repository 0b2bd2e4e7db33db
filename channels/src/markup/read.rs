//! Markdown → [`Flow`]: CommonMark with tables, strike-through, task lists and spoilers.

mod inline;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::spoiler::{self, Item};
use super::table::Table;
use super::{Atom, Dialect, Flow, Mark, Style, clean};

/// Containers beyond this depth add nothing to a line's indent, so that no text can make every line endless.
const INDENT_DEPTH_MAX: usize = 8;

/// What a thematic break looks like.
const RULE: &str = "──────────";

/// Reads Markdown as it will be shown in `dialect`. What has no visible text as Markdown (a lone `#`, an empty code
/// block, a link definition) is shown as it was written: something was said.
pub fn read(dialect: Dialect, markdown: &str) -> Flow {
    let source = clean(markdown);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(&source, options).into_offset_iter();
    let mut reader = Reader::new(&source, dialect);
    for (item, range) in spoiler::pair(&source, events) {
        reader.item(item, range);
    }
    let flow = Flow::new(reader.plain, reader.marks, reader.atoms);
    if flow.is_blank() { Flow::verbatim(source.trim()) } else { flow }
}

struct Reader<'s> {
    source: &'s str,
    dialect: Dialect,
    plain: String,
    marks: Vec<Mark>,
    atoms: Vec<Atom>,
    before: Before,
    /// Styles that are open, each with its start; `None` where an outer one looks the same already.
    open: Vec<(Option<Style>, usize)>,
    /// What each new line of a block begins with, outermost first.
    indents: Vec<&'static str>,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    quotes: usize,
    table: Option<Table>,
    in_code_block: bool,
    in_heading: bool,
    /// Where the last piece of a line ended in the source; a gap after it hides a back-slash.
    end: usize,
}

/// What stands right before the place where the next text goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing of this block yet: the gap to the one before has been made.
    Gap,
    /// A list marker: the item may go on in its line.
    Marker,
    /// Text of the same block.
    Text,
    /// A block that is complete.
    Block,
}

impl<'s> Reader<'s> {
    fn new(source: &'s str, dialect: Dialect) -> Self {
        Reader {
            source,
            dialect,
            plain: String::with_capacity(source.len()),
            marks: Vec::new(),
            atoms: Vec::new(),
            before: Before::Gap,
            open: Vec::new(),
            indents: Vec::new(),
            lists: Vec::new(),
            quotes: 0,
            table: None,
            in_code_block: false,
            in_heading: false,
            end: 0,
        }
    }

    fn item(&mut self, item: Item<'_>, range: Range<usize>) {
        match item {
            Item::Markdown(Event::Start(tag)) => {
                self.start(tag, range.start);
                self.end = range.start;
                return;
            }
            Item::Markdown(Event::End(tag)) => self.finish(tag),
            Item::Markdown(Event::Text(text)) => self.text(&text, range.clone()),
            Item::Markdown(Event::Code(text)) => self.code(&text, range.start),
            Item::Markdown(Event::InlineHtml(text) | Event::Html(text)) => self.lines(&text, range.start),
            Item::Markdown(Event::SoftBreak | Event::HardBreak) => self.line_break(),
            Item::Markdown(Event::Rule) => {
                self.gap(range.start);
                self.push(RULE);
                self.before = Before::Block;
            }
            Item::Markdown(Event::TaskListMarker(done)) => self.task(done),
            Item::SpoilerStart => self.open(Style::Spoiler, range.start),
            Item::SpoilerEnd => self.close(),
            // Not switched on above.
            Item::Markdown(Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_)) => {}
        }
        self.end = range.end;
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(at),
            Tag::Heading { level, .. } => {
                self.gap(at);
                self.in_heading = true;
                self.open(Style::Heading(level as u8), at);
            }
            Tag::BlockQuote(_) => self.quote(at),
            Tag::CodeBlock(kind) => {
                self.block(at);
                self.in_code_block = true;
                self.open.push((Some(Style::Pre { language: language(&kind) }), self.plain.len()));
            }
            Tag::List(first) => self.lists.push(first),
            Tag::Item => self.list_item(at),
            Tag::Table(alignments) => {
                self.block(at);
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.row();
                }
            }
            Tag::TableCell => {
                if let Some(table) = &mut self.table {
                    table.cell();
                }
            }
            Tag::Emphasis => {
                let marker = if self.source[at..].starts_with('_') { '_' } else { '*' };
                self.open(Style::Italic(marker), at);
            }
            Tag::Strong => self.open(Style::Bold, at),
            Tag::Strikethrough => self.open(Style::Strike, at),
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => {
                self.open(Style::Autolink { url: format!("mailto:{dest_url}") }, at);
            }
            Tag::Link { link_type: LinkType::Autolink, dest_url, .. } => {
                self.open(Style::Autolink { url: dest_url.into_string() }, at);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.open(Style::Link { url: dest_url.into_string() }, at);
            }
            // Not switched on in `read`.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn finish(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => return self.close(),
            TagEnd::Link | TagEnd::Image => return self.close_link(),
            TagEnd::TableHead | TagEnd::TableRow | TagEnd::TableCell => return,
            TagEnd::Heading(_) => {
                self.in_heading = false;
                self.close();
            }
            TagEnd::CodeBlock => {
                self.in_code_block = false;
                let start = self.open.last().map_or(0, |(_, start)| *start);
                let line = if self.dialect.has_blocks() { "\n".to_owned() } else { self.line_start() };
                if let Some(text) = self.plain[start..].strip_suffix(&line) {
                    self.plain.truncate(start + text.len());
                }
                self.close();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.open.push((Some(Style::Pre { language: String::new() }), self.plain.len()));
                    self.block_lines(&table.lines());
                    self.close();
                }
            }
            TagEnd::HtmlBlock => self.plain.truncate(self.plain.trim_end_matches(['\n', ' ']).len()),
            TagEnd::BlockQuote(_) => {
                self.quotes -= 1;
                if self.is_quote_text() {
                    self.indents.pop();
                    // Its sign is there even if nothing else is.
                    self.before = Before::Block;
                } else {
                    self.close();
                }
            }
            TagEnd::Item => {
                self.indents.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            _ => {}
        }
        if self.before != Before::Gap {
            self.before = Before::Block;
        }
    }

    // Blocks.

    /// Makes the gap to what stands before: as many line ends as in the source, and at most one blank line.
    fn gap(&mut self, at: usize) {
        let lines = match self.before {
            Before::Gap => 0,
            Before::Marker => lines_before(self.source, at).min(1),
            Before::Text | Before::Block if self.plain.is_empty() => 0,
            Before::Text | Before::Block => lines_before(self.source, at).clamp(1, 2),
        };
        if lines == 2 {
            self.plain.push('\n');
        }
        if lines > 0 {
            self.newline();
        }
        if self.before != Before::Marker || lines > 0 {
            self.before = Before::Gap;
        }
    }

    /// The gap before something that fills whole lines.
    fn block(&mut self, at: usize) {
        self.gap(at);
        if !self.dialect.has_blocks() {
            return;
        }
        let line = self.line_start();
        if self.before == Before::Marker {
            self.plain.push('\n');
        } else if let Some(text) = self.plain.strip_suffix(&line) {
            self.plain.truncate(text.len() + 1);
        } else if self.plain == line[1..] {
            self.plain.clear();
        }
        self.before = Before::Gap;
    }

    fn newline(&mut self) {
        let line = self.line_start();
        self.plain.push_str(&line);
    }

    /// A line end and what the next line begins with.
    fn line_start(&self) -> String {
        std::iter::once(&"\n").chain(self.indents.iter().take(INDENT_DEPTH_MAX)).copied().collect()
    }

    /// Platforms have one level of quotes, a terminal none; the others are written as text.
    fn is_quote_text(&self) -> bool {
        self.quotes > 0 || !self.dialect.has_blocks()
    }

    fn quote(&mut self, at: usize) {
        if self.is_quote_text() {
            self.gap(at);
            if self.indents.len() < INDENT_DEPTH_MAX {
                self.plain.push_str("> ");
            }
            self.indents.push("> ");
        } else {
            self.block(at);
            self.open.push((Some(Style::Quote), self.plain.len()));
        }
        self.before = Before::Gap;
        self.quotes += 1;
    }

    fn list_item(&mut self, at: usize) {
        self.gap(at);
        let depth = self.lists.len().saturating_sub(1);
        match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                self.plain.push_str(&marker);
                self.indents.push("   ");
            }
            _ => {
                self.plain.push_str(self.dialect.bullet(depth));
                self.indents.push("  ");
            }
        }
        self.before = Before::Marker;
    }

    fn task(&mut self, done: bool) {
        let bullet = self.dialect.bullet(self.lists.len().saturating_sub(1));
        // Where the bullet is a character of ours, the box takes its place.
        if self.before == Before::Marker && self.dialect != Dialect::Discord && self.plain.ends_with(bullet) {
            self.plain.truncate(self.plain.len() - bullet.len());
        }
        self.plain.push_str(if done { "☑ " } else { "☐ " });
    }
}

/// The line ends between `at` and what stands before it, quote signs aside.
fn lines_before(source: &str, at: usize) -> usize {
    let gap = source[..at].trim_end_matches(|c: char| c.is_whitespace() || c == '>').len();
    source[gap..at].bytes().filter(|byte| *byte == b'\n').count()
}

/// The language of a code block, as far as it is a plain word.
fn language(kind: &CodeBlockKind<'_>) -> String {
    let CodeBlockKind::Fenced(info) = kind else { return String::new() };
    let is_word = |c: &char| c.is_ascii_alphanumeric() || "_+-.#".contains(*c);
    info.chars().take_while(is_word).take(32).collect()
}
