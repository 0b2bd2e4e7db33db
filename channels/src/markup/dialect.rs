//! The markup languages that platforms read.

use super::Style;
use crate::Kind;

/// A markup language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Discord's Markdown.
    Discord,
    /// The HTML subset of Telegram's Bot API.
    Telegram,
    /// None: for a terminal.
    Plain,
}

/// What becomes of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    /// It is marked, with this URL.
    Marked(String),
    /// Its text says it all.
    Bare,
    /// Its URL is written after its text.
    Spelled,
}

/// The longest URL that is put into markup, in UTF-16 units after escaping. A longer one is written out as text,
/// which can be cut, while the markup around a cut must fit into every piece.
const URL_UNITS_MAX: usize = 1_000;

impl Dialect {
    /// The language that a platform reads.
    pub fn of(kind: Kind) -> Dialect {
        match kind {
            Kind::Discord => Dialect::Discord,
            Kind::Telegram => Dialect::Telegram,
            Kind::Console | Kind::Web => Dialect::Plain,
        }
    }

    /// What stands before a range of this style.
    pub(super) fn open(self, style: &Style) -> String {
        match self {
            Dialect::Plain => String::new(),
            Dialect::Telegram => telegram(style).0,
            Dialect::Discord => discord(style).0,
        }
    }

    /// What stands after it.
    pub(super) fn close(self, style: &Style) -> String {
        match self {
            Dialect::Plain => String::new(),
            Dialect::Telegram => telegram(style).1,
            Dialect::Discord => discord(style).1,
        }
    }

    /// What every line of this style but the first begins with.
    pub(super) fn line(self, style: &Style) -> &'static str {
        if self == Dialect::Discord && *style == Style::Quote { "> " } else { "" }
    }

    /// Writes plain text so that it is read as that.
    pub(super) fn escape(self, text: &str, out: &mut String) {
        match self {
            // The text is what stood in the source, where it was plain text too; the exceptions are atoms.
            Dialect::Discord | Dialect::Plain => out.push_str(text),
            Dialect::Telegram => text.chars().for_each(|c| match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                c => out.push(c),
            }),
        }
    }

    /// How a character is written that is plain text here and was not written as itself in the source.
    pub(super) fn literal(self, c: char) -> Option<String> {
        (self == Dialect::Discord && r"\`*_~|<>[]()#@:-+.".contains(c)).then(|| format!("\\{c}"))
    }

    /// Whether text can be set off as a block of code; otherwise it keeps the indent of where it stands.
    pub(super) fn has_blocks(self) -> bool {
        self != Dialect::Plain
    }

    /// What an item of a bullet list begins with, `depth` lists deep.
    pub(super) fn bullet(self, depth: usize) -> &'static str {
        match (self, depth) {
            (Dialect::Discord, _) => "- ",
            (_, 0) => "• ",
            (_, 1) => "◦ ",
            (_, _) => "▪ ",
        }
    }

    /// The most marks that one message may have: Telegram drops what comes after a hundred entities
    /// (<https://core.telegram.org/api/entities>).
    pub fn marks_max(self) -> usize {
        match self {
            Dialect::Telegram => 100,
            Dialect::Discord | Dialect::Plain => usize::MAX,
        }
    }

    /// What becomes of a link with this URL that is shown as this text.
    pub(super) fn link(self, url: &str, shown: &str) -> Linked {
        let same = shown == url || url.strip_prefix("mailto:") == Some(shown);
        let schemes: &[&str] = match self {
            Dialect::Plain => &[],
            Dialect::Telegram => &["http://", "https://", "tg://", "mailto:"],
            Dialect::Discord => &["http://", "https://"],
        };
        let known = schemes.iter().any(|scheme| has_prefix(url, scheme) && url.len() > scheme.len());
        // Discord shows a link literally if its text is a URL: nobody shall read one address and follow another.
        let unmasked = self == Dialect::Discord && (same || shown.contains("://"));
        // A link to a person is a mention, and the person hears of it; our text mentions nobody.
        let mention = has_prefix(url, "tg://user");
        if known && !unmasked && !mention {
            let url = self.escape_url(url);
            if url.encode_utf16().count() <= URL_UNITS_MAX {
                return Linked::Marked(url);
            }
        }
        if same || url.is_empty() { Linked::Bare } else { Linked::Spelled }
    }

    fn escape_url(self, url: &str) -> String {
        let mut out = String::with_capacity(url.len());
        for c in url.chars() {
            match c {
                c if c.is_whitespace() || c.is_control() => out.push_str("%20"),
                '(' if self == Dialect::Discord => out.push_str("%28"),
                ')' if self == Dialect::Discord => out.push_str("%29"),
                '<' => out.push_str("%3C"),
                '>' => out.push_str("%3E"),
                '"' => out.push_str("%22"),
                '&' if self == Dialect::Telegram => out.push_str("&amp;"),
                c => out.push(c),
            }
        }
        out
    }
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn telegram(style: &Style) -> (String, String) {
    let tag = |name: &str| (format!("<{name}>"), format!("</{name}>"));
    match style {
        Style::Bold | Style::Heading(_) => tag("b"),
        Style::Italic(_) => tag("i"),
        Style::Strike => tag("s"),
        Style::Spoiler => tag("tg-spoiler"),
        Style::Code(_) => tag("code"),
        Style::Quote => tag("blockquote"),
        Style::Link { url } | Style::Autolink { url } => (format!("<a href=\"{url}\">"), "</a>".to_owned()),
        Style::Pre { language } if language.is_empty() => tag("pre"),
        Style::Pre { language } => (format!("<pre><code class=\"language-{language}\">"), "</code></pre>".to_owned()),
    }
}

fn discord(style: &Style) -> (String, String) {
    let both = |around: &str| (around.to_owned(), around.to_owned());
    match style {
        Style::Bold => both("**"),
        Style::Italic(marker) => both(marker.encode_utf8(&mut [0; 4])),
        Style::Strike => both("~~"),
        Style::Spoiler => both("||"),
        Style::Code(ticks) => ((*ticks).to_owned(), ticks.chars().rev().collect()),
        Style::Quote => ("> ".to_owned(), String::new()),
        Style::Link { url } => ("[".to_owned(), format!("]({url})")),
        Style::Autolink { .. } => ("<".to_owned(), ">".to_owned()),
        Style::Heading(level) if *level <= 3 => (format!("{} ", "#".repeat((*level).into())), String::new()),
        Style::Heading(_) => both("**"),
        Style::Pre { language } => (format!("```{language}\n"), "\n```".to_owned()),
    }
}
