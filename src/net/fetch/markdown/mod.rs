//! HTML to Markdown, for a model to read.
//!
//! Written over the tokenizer alone, in one pass, and not over a tree: a page is a stranger's, and a mebibyte of
//! opening tags is a tree so deep that building it takes quadratic time and walking it overflows the stack. Here the
//! number of open elements is bounded, and so is what comes out. What is not closed, closed twice or nested wrongly
//! costs its formatting and never its text. Characters that mean something in Markdown are not escaped: nobody renders
//! this.

mod flow;
mod table;

use html5gum::emitters::default::{DefaultEmitter, StartTag};
use html5gum::{HtmlString, Token, Tokenizer};
use url::Url;

use flow::Flow;
use table::Table;

/// How many elements with a meaning may be open at once. Browsers stop as well: Blink at 512 of any kind
/// (`kMaximumHTMLParserDOMTreeDepth`).
const OPEN_MAX: usize = 256;

/// How many quotes and lists may be inside of each other, and how many tables: deeper ones are read as plain text.
const INDENTS_MAX: usize = 12;
const TABLES_MAX: usize = 6;

/// The longest link that is shown, in bytes, and how many are: reading one costs more than all else of its element.
const LINK_BYTES_MAX: usize = 2_000;
const LINKS_MAX: usize = 10_000;

/// Elements whose content is not text of the page.
const HIDDEN: [&str; 13] = [
    "audio", "canvas", "datalist", "embed", "iframe", "noembed", "noframes", "noscript", "object", "script", "style",
    "svg", "template",
];

/// Elements that begin on a line of their own.
const BLOCKS: [&str; 29] = [
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hgroup",
    "html",
    "legend",
    "main",
    "menu",
    "nav",
    "option",
    "search",
    "section",
    "summary",
    "textarea",
];

/// An element that has something to do when it is closed.
enum Open {
    Heading,
    Quote,
    List { next: Option<u64>, indents: bool },
    Item { indents: bool },
    Pre,
    Code,
    Strong,
    Emphasis,
    Link(String),
    Table,
    Row,
    Cell,
}

struct Writer {
    base: Url,
    rebased: bool,
    /// Names and meanings, from the outside in. At most [`OPEN_MAX`].
    open: Vec<(Box<[u8]>, Open)>,
    /// Where text goes: the page, and inside of it one for each open cell.
    flows: Vec<Flow>,
    tables: Vec<Table>,
    /// The text of an open `pre` or `code`, taken as it is.
    verbatim: Option<String>,
    /// The name of the hidden element that is open, and how often.
    hidden: Option<(Box<[u8]>, usize)>,
    title: Option<String>,
    in_title: bool,
    /// How many more links are shown.
    links_left: usize,
}

/// A page as Markdown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Markdown {
    /// The text; the page's title is its first line.
    pub text: String,
    /// Whether the end of the page is missing.
    pub was_cut: bool,
}

/// Reads a page that came from `base`. The text is at most about `bytes_max` bytes long: links are written in full, so
/// that a page may become longer than it was.
pub(super) fn markdown(html: &str, base: &Url, bytes_max: usize) -> Markdown {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut writer = Writer {
        base: base.clone(),
        rebased: false,
        open: Vec::new(),
        flows: vec![Flow::default()],
        tables: Vec::new(),
        verbatim: None,
        hidden: None,
        title: None,
        in_title: false,
        links_left: LINKS_MAX,
    };
    let mut was_cut = false;
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => writer.start(&tag),
            Token::EndTag(tag) => writer.end(&tag.name),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if writer.size() > bytes_max {
            was_cut = true;
            break;
        }
    }
    Markdown { text: writer.finish(bytes_max), was_cut }
}

impl Writer {
    fn flow(&mut self) -> &mut Flow {
        self.flows.last_mut().expect("the page's own flow is never taken")
    }

    fn size(&self) -> usize {
        self.flows.iter().map(Flow::size).sum::<usize>() + self.tables.iter().map(Table::size).sum::<usize>()
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.in_title {
            self.title.get_or_insert_default().push_str(text);
        } else if let Some(verbatim) = &mut self.verbatim {
            verbatim.push_str(text);
        } else {
            self.flow().text(text);
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = &*tag.name;
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth += usize::from(**hidden == **name && !tag.self_closing);
            return;
        }
        let attribute = |key: &str| tag.attributes.get(key.as_bytes()).map(|value| String::from_utf8_lossy(value));
        match std::str::from_utf8(name).unwrap_or("") {
            word if HIDDEN.contains(&word) => {
                // An `embed` holds nothing; of the others only those of other languages may close themselves.
                let is_empty = word == "embed" || (word == "svg" && tag.self_closing);
                self.hidden = (!is_empty).then(|| (name.as_slice().into(), 1));
            }
            "title" => self.in_title = self.title.is_none(),
            "base" => self.rebase(attribute("href").as_deref()),
            "br" => self.line(1),
            "hr" => self.rule(),
            "p" => self.line(2),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(name),
            "blockquote" => self.quote(name),
            "ul" | "menu" | "dir" => self.list(name, None),
            "ol" => self.list(name, Some(attribute("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1))),
            "li" => self.item(name),
            "pre" => self.verbatim(name, Open::Pre),
            "code" | "kbd" | "samp" | "tt" => self.verbatim(name, Open::Code),
            "b" | "strong" => self.mark(name, Open::Strong, "**"),
            "i" | "em" => self.mark(name, Open::Emphasis, "*"),
            "a" => self.link(name, attribute("href").as_deref()),
            "img" => self.image(attribute("alt").as_deref(), attribute("src").as_deref()),
            "table" => self.table(name),
            "tr" => self.row(name),
            "td" | "th" => self.cell(name),
            word if BLOCKS.contains(&word) => self.line(1),
            _ => {}
        }
    }

    fn end(&mut self, name: &HtmlString) {
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth -= usize::from(**hidden == ***name);
            if *depth == 0 {
                self.hidden = None;
            }
            return;
        }
        match std::str::from_utf8(name).unwrap_or("") {
            "title" => self.in_title = false,
            "p" => self.line(2),
            word if BLOCKS.contains(&word) && word != "menu" => self.line(1),
            _ => self.close(name, &[]),
        }
    }

    /// Closes the innermost open element of this name, and what is open inside of it; not beyond `barriers`.
    fn close(&mut self, name: &[u8], barriers: &[&str]) {
        let wall = self.open.iter().rposition(|(open, _)| barriers.iter().any(|wall| wall.as_bytes() == &**open));
        let Some(at) = self.open.iter().rposition(|(open, _)| **open == *name) else { return };
        // A cell keeps in what is inside of it: a stray end tag does not close the table around it.
        let cell = self.open.iter().rposition(|(_, open)| matches!(open, Open::Cell));
        let inside = cell.is_some_and(|cell| at < cell && !matches!(name, b"table" | b"tr" | b"td" | b"th"));
        if wall.is_some_and(|wall| at < wall) || inside {
            return;
        }
        while self.open.len() > at {
            self.pop();
        }
    }

    fn push(&mut self, name: &[u8], open: Open) -> bool {
        let room = self.open.len() < OPEN_MAX;
        if room {
            self.open.push((name.into(), open));
        }
        room
    }

    fn pop(&mut self) {
        let Some((_, open)) = self.open.pop() else { return };
        match open {
            Open::Heading => self.line(2),
            Open::Quote => {
                self.line(2);
                self.flow().outdent();
            }
            Open::List { indents, .. } => self.line(if indents { 1 } else { 2 }),
            Open::Item { indents } => {
                self.line(1);
                if indents {
                    self.flow().outdent();
                }
            }
            Open::Pre => {
                let text = self.verbatim.take().unwrap_or_default();
                self.flow().fenced(&text);
            }
            Open::Code => {
                let text = self.verbatim.take().unwrap_or_default();
                self.flow().code(&text);
            }
            Open::Strong => self.flow().close("**", "**"),
            Open::Emphasis => self.flow().close("*", "*"),
            Open::Link(url) => self.flow().close("[", &format!("]({url})")),
            Open::Cell => self.close_cell(),
            Open::Row => {}
            Open::Table => self.close_table(),
        }
    }

    fn line(&mut self, breaks: usize) {
        match &mut self.verbatim {
            // Inside of `pre` a line break is one more character.
            Some(verbatim) if breaks == 1 => verbatim.push('\n'),
            Some(_) => {}
            None => self.flow().line(breaks),
        }
    }

    fn rule(&mut self) {
        self.line(2);
        self.text("---");
        self.line(2);
    }

    fn heading(&mut self, name: &[u8]) {
        self.line(2);
        let level = usize::from(name.last().copied().unwrap_or(b'1') - b'0');
        if self.verbatim.is_none() && self.push(name, Open::Heading) {
            self.flow().lead(&format!("{} ", "#".repeat(level)));
        }
    }

    fn quote(&mut self, name: &[u8]) {
        self.line(2);
        let room = self.verbatim.is_none() && self.flow().depth() < INDENTS_MAX;
        if room && self.push(name, Open::Quote) {
            self.flow().indent("> ", "> ");
        }
    }

    fn list(&mut self, name: &[u8], next: Option<u64>) {
        let nested = self.open.iter().any(|(_, open)| matches!(open, Open::Item { .. }));
        self.line(if nested { 1 } else { 2 });
        self.push(name, Open::List { next, indents: nested });
    }

    fn item(&mut self, name: &[u8]) {
        self.close(b"li", &["ul", "ol", "menu", "dir"]);
        self.line(1);
        let list = self.open.iter_mut().rev().find_map(|(_, open)| match open {
            Open::List { next, .. } => Some(next),
            _ => None,
        });
        let marker = match list {
            Some(Some(next)) => {
                *next = next.saturating_add(1);
                format!("{}. ", *next - 1)
            }
            _ => "- ".to_owned(),
        };
        let indents = self.verbatim.is_none() && self.flow().depth() < INDENTS_MAX;
        if self.push(name, Open::Item { indents }) && indents {
            self.flow().indent(&marker, &" ".repeat(marker.len()));
        }
    }

    fn verbatim(&mut self, name: &[u8], open: Open) {
        // `<pre><code>` is one block; the inner one adds nothing.
        if self.verbatim.is_none() && self.push(name, open) {
            self.verbatim = Some(String::new());
        }
    }

    fn mark(&mut self, name: &[u8], open: Open, mark: &str) {
        if self.verbatim.is_none() && self.push(name, open) {
            self.flow().lead(mark);
        }
    }

    fn link(&mut self, name: &[u8], href: Option<&str>) {
        // Links do not nest: the next one ends the one before.
        self.close(b"a", &[]);
        let Some(url) = href.and_then(|href| self.shown(href)) else { return };
        if self.verbatim.is_none() && self.push(name, Open::Link(url)) {
            self.flow().lead("[");
        }
    }

    fn image(&mut self, alt: Option<&str>, src: Option<&str>) {
        let Some(alt) = alt.map(str::trim).filter(|alt| !alt.is_empty()) else { return };
        match src.and_then(|src| self.shown(src)) {
            Some(url) => self.text(&format!("![{alt}]({url})")),
            None => self.text(alt),
        }
    }

    /// A link as it is shown: whole. `None` for one that leads nowhere a model could go.
    fn shown(&mut self, href: &str) -> Option<String> {
        if href.trim_start().starts_with('#') || href.len() > LINK_BYTES_MAX {
            return None;
        }
        self.links_left = self.links_left.checked_sub(1)?;
        let url = self.base.join(href).ok()?;
        let known = matches!(url.scheme(), "http" | "https" | "mailto" | "tel");
        let text = url.as_str();
        let text = if text.contains(['(', ')']) { format!("<{text}>") } else { text.to_owned() };
        (known && text.len() <= LINK_BYTES_MAX).then_some(text)
    }

    /// The page says what its links are relative to. The first word counts, as in a browser.
    fn rebase(&mut self, href: Option<&str>) {
        let Some(href) = href.filter(|href| !self.rebased && href.len() <= LINK_BYTES_MAX) else { return };
        self.rebased = true;
        if let Ok(base) = self.base.join(href) {
            self.base = base;
        }
    }

    fn table(&mut self, name: &[u8]) {
        self.line(1);
        if self.verbatim.is_none() && self.tables.len() < TABLES_MAX && self.push(name, Open::Table) {
            self.tables.push(Table::default());
        }
    }

    fn row(&mut self, name: &[u8]) {
        self.close(b"tr", &["table"]);
        let in_table = self.in_table();
        if !in_table {
            self.line(1);
        } else if self.push(name, Open::Row)
            && let Some(table) = self.tables.last_mut()
        {
            table.row();
        }
    }

    fn cell(&mut self, name: &[u8]) {
        for other in [&b"td"[..], b"th"] {
            self.close(other, &["table", "tr"]);
        }
        if !self.in_table() {
            self.text(" ");
        } else if self.push(name, Open::Cell) {
            self.flows.push(Flow::default());
        }
    }

    /// Whether a row or a cell that begins now belongs to the innermost table, and not to a cell of it.
    fn in_table(&self) -> bool {
        let innermost = |(_, open): &&(_, Open)| matches!(open, Open::Table | Open::Cell);
        self.verbatim.is_none()
            && self.open.iter().rev().find(innermost).is_some_and(|(_, open)| matches!(open, Open::Table))
    }

    fn close_cell(&mut self) {
        if self.flows.len() < 2 {
            return;
        }
        let text = self.flows.pop().map(Flow::finish).unwrap_or_default();
        if let Some(table) = self.tables.last_mut() {
            table.cell(text);
        }
    }

    fn close_table(&mut self) {
        let Some(table) = self.tables.pop() else { return };
        let text = table.finish();
        self.flow().block(&text);
    }

    fn finish(mut self, bytes_max: usize) -> String {
        while !self.open.is_empty() {
            self.pop();
        }
        let body = self.flows.drain(..).next().map(Flow::finish).unwrap_or_default();
        let title = self.title.as_deref().map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut text = match title.filter(|title| !title.is_empty()) {
            // A page that says its title as its first heading says it once.
            Some(title) if !body.starts_with(&format!("# {title}")) => format!("# {title}\n\n{body}"),
            _ => body,
        };
        text.truncate(text.floor_char_boundary(bytes_max));
        text
    }
}

#[cfg(test)]
mod tests;
