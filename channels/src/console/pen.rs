//! What a person sees.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::{Button, Emphasis, File, FileSource, Piece, markup};

/// Something to show.
#[derive(Clone, Debug)]
pub(super) enum Shows {
    /// A message, or what became of it: drafts and final texts come with the same id.
    Message { message_id: String, piece: Piece },
    /// A message was taken away.
    Withdrawn { message_id: String },
    /// Somebody typed this in another session.
    Said(String),
}

/// Whether output goes to something that knows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Ansi,
}

/// Writes to one session, and knows what stands there.
///
/// A draft's line stays open: when its text grows, only what is new is written.
pub(super) struct Pen<W> {
    writer: W,
    look: Look,
    /// The message shown last, and what is shown of it.
    last: Option<Last>,
}

struct Last {
    message_id: String,
    text: String,
    below: String,
    is_open: bool,
}

/// What a draft ends in.
const UNFINISHED: char = '…';

impl<W: AsyncWrite + Unpin> Pen<W> {
    pub(super) fn new(writer: W, look: Look) -> Self {
        Pen { writer, look, last: None }
    }

    pub(super) async fn show(&mut self, shows: &Shows) -> io::Result<()> {
        let out = match shows {
            Shows::Message { message_id, piece } => self.message(message_id, piece),
            Shows::Withdrawn { message_id } => self.aside(match &self.last {
                Some(last) if last.message_id == *message_id => "(taken back)",
                _ => "(an earlier message was taken back)",
            }),
            Shows::Said(text) => self.aside(&format!("> {}", markup::clean(text).replace('\n', "\n> "))),
        };
        self.writer.write_all(out.as_bytes()).await?;
        self.writer.flush().await
    }

    fn message(&mut self, message_id: &str, piece: &Piece) -> String {
        // What is shown may come from anywhere: no escape sequence gets through.
        let text = markup::clean(&piece.text).into_owned();
        let (text, is_open) = match text.strip_suffix(UNFINISHED) {
            Some(begun) => (begun.trim_end().to_owned(), true),
            None => (text, false),
        };
        let below = self.below(piece);
        let mut out = match self.last.take() {
            Some(last) if last.message_id == message_id && last.is_open && text.starts_with(&last.text) => {
                text[last.text.len()..].to_owned()
            }
            // Nothing new, such as a draft that comes after the end.
            Some(last) if last.message_id == message_id && last.text == text && last.below == below => {
                self.last = Some(last);
                return String::new();
            }
            last => {
                let start = if last.is_some_and(|last| last.is_open) { "\n" } else { "" };
                format!("{start}{text}")
            }
        };
        if !is_open {
            out.push('\n');
            out.push_str(&below);
        }
        self.last = Some(Last { message_id: message_id.to_owned(), text, below, is_open });
        out
    }

    /// A line of its own.
    fn aside(&mut self, text: &str) -> String {
        let start = if self.last.take().is_some_and(|last| last.is_open) { "\n" } else { "" };
        let (dim, plain) = if self.look == Look::Ansi { ("\u{1b}[2m", "\u{1b}[0m") } else { ("", "") };
        format!("{start}{dim}{text}{plain}\n")
    }

    /// Files and buttons.
    fn below(&self, piece: &Piece) -> String {
        let mut lines: Vec<String> = piece.files.iter().map(file).collect();
        let mut number = 0;
        for row in &piece.buttons {
            let row = row.iter().map(|button| {
                number += 1;
                self.button(number, button)
            });
            lines.push(row.collect::<Vec<_>>().join("  "));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn button(&self, number: usize, button: &Button) -> String {
        let label = markup::clean(&button.label).replace('\n', " ");
        let colour = match (self.look, button.emphasis) {
            (Look::Plain, _) => return format!("[{number}] {label}"),
            (Look::Ansi, Emphasis::Plain) => "1",
            (Look::Ansi, Emphasis::Primary) => "1;32",
            (Look::Ansi, Emphasis::Danger) => "1;31",
        };
        format!("\u{1b}[{colour}m[{number}]\u{1b}[0m {label}")
    }
}

fn file(file: &File) -> String {
    let name = markup::clean(&file.name).replace('\n', " ");
    match &file.source {
        FileSource::Path(path) => format!("({name}: {})", markup::clean(&path.display().to_string())),
        FileSource::Text(text) => format!("({name}:)\n{}", markup::clean(text).trim_end()),
    }
}
