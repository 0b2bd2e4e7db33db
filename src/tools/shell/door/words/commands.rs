//! Between words: operators, brackets, redirections, and texts that begin on the next line.

use super::{Read, Redirect, Simple, Word};

/// A command that is being read.
pub(super) struct Reader<'a> {
    pub(super) chars: &'a [char],
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) read: &'a mut Read,
    pub(super) now: Simple,
    pub(super) word: Option<Word>,
    /// Delimiters of texts that begin on the next line.
    pub(super) waiting: Vec<String>,
    /// How many round brackets are open.
    pub(super) open: usize,
}

impl Reader<'_> {
    pub(super) fn all(&mut self) {
        let mut operator: Option<&'static str> = None;
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' => {
                    self.at += 1;
                    self.end_word();
                }
                '#' if self.word.is_none() => self.skip_line(),
                '\n' => {
                    self.at += 1;
                    self.end_command(false, &mut operator, None);
                    self.bodies();
                }
                ';' | '&' | '|' if !self.is_redirect() => self.operator(&mut operator),
                '(' | ')' => self.bracket(&mut operator),
                '<' | '>' | '&' => self.redirect(),
                _ => self.part(),
            }
        }
        self.end_command(false, &mut operator, None);
        if operator.is_some() {
            self.fault("it ends with an operator");
        }
        if self.open > 0 {
            self.fault("a bracket is not closed");
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub(super) fn fault(&mut self, what: &'static str) {
        self.read.fault = self.read.fault.or(Some(what));
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn is_redirect(&self) -> bool {
        self.peek(0) == Some('&') && self.peek(1) == Some('>')
    }

    /// Ends the simple command, if one was begun. `needs`: the operator that ends it needs one after it as well.
    fn end_command(&mut self, piped_next: bool, operator: &mut Option<&'static str>, needs: Option<&'static str>) {
        self.end_word();
        let began = !self.now.words.is_empty() || !self.now.redirects.is_empty();
        if began {
            *operator = None;
            let done = std::mem::take(&mut self.now);
            self.read.commands.push(done);
        }
        if needs.is_some() {
            *operator = needs;
        }
        self.now.piped = piped_next || (self.now.piped && !began);
    }

    fn operator(&mut self, operator: &mut Option<&'static str>) {
        let (c, next) = (self.peek(0), self.peek(1));
        self.end_word();
        let closes_case = c == Some(';') && matches!(next, Some(';' | '&'));
        if self.now.words.is_empty() && self.now.redirects.is_empty() && !closes_case && !self.follows_bracket() {
            self.fault("it begins with an operator");
        }
        let doubled = next == c || closes_case || (c == Some('|') && next == Some('&'));
        self.at += if doubled { 2 } else { 1 };
        let pipes = c == Some('|') && next != Some('|');
        let needs = match (c, doubled) {
            (Some('|'), _) => Some("|"),
            (Some('&'), true) => Some("&&"),
            _ => None,
        };
        self.end_command(pipes, operator, needs);
    }

    /// Whether what stands before is a bracket that was closed, or a word that a command may begin with.
    fn follows_bracket(&self) -> bool {
        let before = self.chars[..self.at].iter().rev().find(|c| !c.is_whitespace());
        matches!(before, Some(')' | '}'))
    }

    fn bracket(&mut self, operator: &mut Option<&'static str>) {
        if self.peek(0) == Some(')') {
            self.at += 1;
            if self.open == 0 && !self.in_case() {
                self.fault("a bracket is closed that was not opened");
            }
            self.open = self.open.saturating_sub(1);
            self.end_command(false, operator, None);
            return;
        }
        if self.peek(1) == Some('(') && self.word.is_none() {
            // Arithmetic: no command is in it.
            self.at += 2;
            self.balanced('(', ')', 2);
            self.now.words.push(Word { text: "((".to_owned(), raw: "((".to_owned(), computed: false });
            return;
        }
        let assigns = self.word.as_ref().is_some_and(|word| word.text.ends_with('='));
        if self.word.is_some() && self.peek(1) == Some(')') && !assigns {
            // A function: its name is no program.
            self.at += 2;
            self.word = None;
            if self.now.words.is_empty() && self.next_visible() != Some('{') && self.next_visible() != Some('(') {
                self.fault("a function has no body");
            }
            return;
        }
        if self.word.is_none() && self.peek(1) == Some(')') {
            self.fault("there is nothing in the brackets");
        }
        self.at += 1;
        let conditional =
            self.now.words.first().is_some_and(|word| matches!(&*word.text, "[[" | "case" | "for" | "function"));
        if assigns || conditional || (self.word.is_none() && self.begins_command()) {
            self.open += 1;
            self.end_word();
            return;
        }
        self.fault("a bracket stands where none may");
        self.open += 1;
        self.end_command(false, operator, None);
    }

    fn in_case(&self) -> bool {
        self.read
            .commands
            .iter()
            .chain([&self.now])
            .any(|command| command.words.first().is_some_and(|word| word.text == "case"))
    }

    fn begins_command(&self) -> bool {
        const OPENERS: &[&str] = &["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time"];
        self.now.words.iter().all(|word| OPENERS.contains(&&*word.text))
    }

    fn next_visible(&self) -> Option<char> {
        self.chars[self.at..].iter().copied().find(|c| !c.is_whitespace())
    }

    pub(super) fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.now.words.extend(braces(word));
        }
    }

    /// `>`, `2>&1`, `< file`, `<(command)`, `<<END`, `<<< text`, `&> file`.
    fn redirect(&mut self) {
        // The number before it is no word.
        if self.word.as_ref().is_some_and(|word| !word.raw.is_empty() && word.raw.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let rest = &self.chars[self.at..];
        let starts = |mark: &str| mark.chars().enumerate().all(|(at, c)| rest.get(at) == Some(&c));
        if starts("<(") || starts(">(") {
            self.at += 2;
            self.command_until_bracket();
            self.word = Some(Word { text: String::new(), raw: "<()".to_owned(), computed: true });
            return;
        }
        let mark = ["<<<", "<<-", "&>>", "<<", ">>", ">&", "<&", "<>", ">|", "&>", "<", ">"];
        let Some(mark) = mark.into_iter().find(|mark| starts(mark)) else {
            self.at += 1;
            return;
        };
        self.at += mark.len();
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        while self.peek(0).is_some_and(|c| !c.is_whitespace() && !";&|()<>".contains(c)) {
            self.part();
        }
        let Some(target) = self.word.take() else {
            self.fault("a redirection leads nowhere");
            return;
        };
        match mark {
            "<<<" => self.now.inputs.push(target.text),
            "<<" | "<<-" => self.waiting.push(target.text),
            ">&" | "<&" if target.text.chars().all(|c| c.is_ascii_digit() || c == '-') => {}
            mark => self.now.redirects.push(Redirect { writes: mark.contains('>'), target }),
        }
    }

    /// The texts that were announced on the line before. They are the input of its last command.
    fn bodies(&mut self) {
        for delimiter in std::mem::take(&mut self.waiting) {
            let mut body = String::new();
            loop {
                if self.at >= self.chars.len() {
                    self.fault("a text has no end");
                    break;
                }
                let from = self.at;
                self.skip_line();
                let line: String = self.chars[from..self.at].iter().collect();
                self.at += 1;
                if line.trim_start_matches('\t') == delimiter {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if let Some(last) = self.read.commands.last_mut() {
                last.inputs.push(body);
            }
        }
    }
}

/// `{cat,file}` is two words.
fn braces(word: Word) -> Vec<Word> {
    let inside =
        word.raw.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).filter(|inside| inside.contains(','));
    match inside {
        Some(_) if word.text.len() > 2 => word.text[1..word.text.len() - 1]
            .split(',')
            .map(|part| Word { text: part.to_owned(), raw: part.to_owned(), computed: word.computed })
            .collect(),
        _ => vec![word],
    }
}
