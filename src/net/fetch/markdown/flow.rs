//! Text that runs in lines: white space folded, every line behind the marks of its quotes and lists.

/// Text in the making.
#[derive(Debug, Default)]
pub(super) struct Flow {
    out: String,
    /// Line breaks to come before the next text.
    breaks: usize,
    /// Whether a space is to come before the next text.
    space: bool,
    /// Marks that open with the next text: `**`, `[`, `## `.
    marks: Vec<String>,
    /// What lines begin with, from the outside in.
    indents: Vec<Indent>,
}

#[derive(Debug)]
struct Indent {
    /// For the line that comes first; empty afterwards.
    first: String,
    /// For all others.
    rest: String,
}

impl Flow {
    /// How long it is, in bytes.
    pub fn size(&self) -> usize {
        self.out.len()
    }

    /// How many quotes and list items are open.
    pub fn depth(&self) -> usize {
        self.indents.len()
    }

    /// Adds text; white space of any length is one space.
    pub fn text(&mut self, text: &str) {
        for c in text.chars() {
            if c.is_whitespace() {
                self.space = true;
            } else {
                self.begin();
                self.out.push(c);
            }
        }
    }

    /// The next text stands on a new line: `breaks` 2 leaves an empty one before it.
    pub fn line(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
        self.space = false;
    }

    /// Opens a mark with the next text.
    pub fn lead(&mut self, mark: &str) {
        self.marks.push(mark.to_owned());
    }

    /// Closes a mark; one around nothing leaves no trace.
    pub fn close(&mut self, opened: &str, closing: &str) {
        match self.marks.iter().rposition(|mark| mark == opened) {
            Some(at) => drop(self.marks.remove(at)),
            None => self.out.push_str(closing),
        }
    }

    /// Lines from here on begin with `rest`, the first of them with `first`.
    pub fn indent(&mut self, first: &str, rest: &str) {
        self.indents.push(Indent { first: first.to_owned(), rest: rest.to_owned() });
    }

    /// Ends the last [`Flow::indent`].
    pub fn outdent(&mut self) {
        self.indents.pop();
    }

    /// Adds text as code inside of a line.
    pub fn code(&mut self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        let fence = "`".repeat(longest_run(&text) + 1);
        let padding = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        self.begin();
        self.out.push_str(&format!("{fence}{padding}{text}{padding}{fence}"));
    }

    /// Adds text as a block of code.
    pub fn fenced(&mut self, text: &str) {
        let text = text.trim_end();
        let text = text.strip_prefix('\n').unwrap_or(text);
        if !text.is_empty() {
            let fence = "`".repeat((longest_run(text) + 1).max(3));
            self.block(&format!("{fence}\n{text}\n{fence}"));
        }
    }

    /// Adds lines as they are, each behind the marks of where it stands.
    pub fn block(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.line(2);
        self.begin();
        for (at, line) in text.lines().enumerate() {
            if at > 0 {
                self.new_line(Line::Text);
            }
            self.out.push_str(line);
        }
        self.line(2);
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.out
    }

    /// Writes what has to come before the next text.
    fn begin(&mut self) {
        if self.out.is_empty() {
            self.prefix(Line::Text);
        } else if self.breaks > 0 {
            for _ in 1..self.breaks {
                self.new_line(Line::Empty);
            }
            self.new_line(Line::Text);
        } else if self.space {
            self.out.push(' ');
        }
        (self.breaks, self.space) = (0, false);
        for mark in self.marks.drain(..) {
            self.out.push_str(&mark);
        }
    }

    fn new_line(&mut self, line: Line) {
        // What ends in a space shows it to nobody; of an empty line in a quote the bare mark is left.
        let end = self.out.trim_end_matches(' ').len();
        self.out.truncate(end);
        self.out.push('\n');
        self.prefix(line);
    }

    /// A quote or an item begins with its first text, behind all the empty lines before it.
    fn prefix(&mut self, line: Line) {
        for indent in &mut self.indents {
            if indent.first.is_empty() {
                self.out.push_str(&indent.rest);
            } else if line == Line::Text {
                self.out.push_str(&std::mem::take(&mut indent.first));
            }
        }
    }
}

/// What a new line is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Text,
}

/// The longest run of backticks, which the fence around them must be longer than.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
