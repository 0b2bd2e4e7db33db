//! Within a word: quotes, escapes, expansions, and commands whose output stands in it.

use super::commands::Reader;
use super::{Word, read_into};

impl Reader<'_> {
    /// The next part of a word.
    pub(super) fn part(&mut self) {
        let Some(c) = self.peek(0) else { return };
        let from = self.at;
        let mut word = self.word.take().unwrap_or_default();
        match c {
            '\\' => {
                self.at += 2;
                // At the end of a line it joins the next one.
                word.text.extend(self.chars.get(from + 1).filter(|c| **c != '\n'));
            }
            '\'' => self.single_quoted(&mut word),
            '"' => self.double_quoted(&mut word),
            '`' => self.backquoted(&mut word),
            '$' => self.dollar(&mut word),
            c => {
                self.at += 1;
                word.text.push(c);
            }
        }
        self.at = self.at.min(self.chars.len());
        word.raw.extend(&self.chars[from..self.at]);
        if is_separator(
            &word.raw[word.raw.len() - self.chars[from..self.at].iter().map(|c| c.len_utf8()).sum::<usize>()..],
        ) {
            let kept = word.text.trim_end_matches("${IFS}").trim_end_matches("$IFS").len();
            word.text.truncate(kept);
            self.word = Some(word).filter(|word| !word.text.is_empty());
            self.end_word();
        } else {
            self.word = Some(word);
        }
    }

    fn single_quoted(&mut self, word: &mut Word) {
        self.at += 1;
        let from = self.at;
        while self.peek(0).is_some_and(|c| c != '\'') {
            self.at += 1;
        }
        word.text.extend(&self.chars[from..self.at]);
        if self.peek(0).is_none() {
            self.fault("a quote is not closed");
        }
        self.at += 1;
    }

    fn double_quoted(&mut self, word: &mut Word) {
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return self.fault("a quote is not closed"),
                Some('"') => break,
                Some('\\') => {
                    let next = self.peek(1);
                    word.text.extend(next.filter(|c| !"$`\"\\\n".contains(*c)).map(|_| '\\'));
                    word.text.extend(next.filter(|c| *c != '\n'));
                    self.at += 2;
                }
                Some('`') => self.backquoted(word),
                Some('$') => self.dollar(word),
                Some(c) => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
    }

    fn backquoted(&mut self, word: &mut Word) {
        self.at += 1;
        let mut inside = String::new();
        loop {
            match self.peek(0) {
                None => {
                    self.fault("a quote is not closed");
                    break;
                }
                Some('`') => break,
                Some('\\') if matches!(self.peek(1), Some('`' | '\\' | '$')) => {
                    inside.extend(self.peek(1));
                    self.at += 2;
                }
                Some(c) => {
                    inside.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        word.computed = true;
        read_into(&inside, self.depth + 1, self.read);
    }

    /// `$name`, `${…}`, `$(command)`, `$((sum))`, `$'text'`.
    fn dollar(&mut self, word: &mut Word) {
        let from = self.at;
        self.at += 1;
        match (self.peek(0), self.peek(1)) {
            (Some('('), Some('(')) => {
                self.at += 2;
                self.balanced('(', ')', 2);
                word.text.push_str("$((…))");
            }
            (Some('('), _) => {
                self.at += 1;
                self.command_until_bracket();
                word.computed = true;
            }
            (Some('{'), _) => {
                self.at += 1;
                let inside = self.balanced('{', '}', 1);
                if !is_expansion(&inside) {
                    self.fault("an expansion has no name");
                }
                // A command may be in it: `${x:-$(command)}`. Words of it are no program, hence the colon.
                if inside.contains(['$', '`']) {
                    read_into(&format!(": \"{inside}\""), self.depth + 1, self.read);
                }
                word.text.extend(&self.chars[from..self.at.min(self.chars.len())]);
            }
            (Some('\''), _) => {
                self.single_quoted(word);
                word.text = escapes(&word.text);
            }
            _ => {
                while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.at += 1;
                }
                word.text.extend(&self.chars[from..self.at]);
            }
        }
    }

    /// Reads up to the bracket that closes `depth` open ones, and returns what is inside.
    pub(super) fn balanced(&mut self, opens: char, closes: char, mut depth: usize) -> String {
        let from = self.at;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == opens {
                depth += 1;
            } else if c == closes {
                depth -= 1;
            }
            if depth == 0 {
                return self.chars[from..self.at - 1].iter().collect();
            }
        }
        self.fault("a bracket is not closed");
        self.chars[from..].iter().collect()
    }

    /// The command inside of `$( … )`, whose brackets in quotes do not count.
    pub(super) fn command_until_bracket(&mut self) {
        let (from, mut depth, mut quote) = (self.at, 1, None);
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if c == open => quote = None,
                (None | Some('"'), '\\') => self.at += 1,
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inside: String = self.chars[from..self.at - 1].iter().collect();
                return read_into(&inside, self.depth + 1, self.read);
            }
        }
        self.fault("a bracket is not closed");
        let inside: String = self.chars[from..].iter().collect();
        read_into(&inside, self.depth + 1, self.read);
    }
}

/// What may stand in `${…}`: a name or a sign, and what is to be done with its value.
fn is_expansion(inside: &str) -> bool {
    let inside = inside.strip_prefix(['!', '#']).filter(|rest| !rest.is_empty()).unwrap_or(inside);
    let rest = inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let rest =
        if rest.len() == inside.len() { rest.strip_prefix(['@', '*', '#', '?', '-', '$', '!']) } else { Some(rest) };
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with([':', '-', '=', '+', '?', '#', '%', '/', '^', ',', '[', '@', '*'])
    })
}

/// The variable that parts words, used in place of a space.
fn is_separator(part: &str) -> bool {
    part == "$IFS" || part == "${IFS}"
}

/// The escapes of `$'…'` that name a byte: `\x2f`, `\057`, and line breaks.
fn escapes(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (digits, radix, skip) = match after.chars().next() {
            Some('x') => (2, 16, 1),
            Some('0'..='7') => (3, 8, 0),
            _ => (0, 10, 0),
        };
        let number: String = after.chars().skip(skip).take(digits).take_while(|c| c.is_digit(radix)).collect();
        match u8::from_str_radix(&number, radix) {
            Ok(byte) => {
                out.push(char::from(byte));
                rest = &after[skip + number.len()..];
            }
            Err(_) => {
                let c = after.chars().next();
                out.extend(c.map(|c| if c == 'n' { '\n' } else { c }));
                rest = &after[c.map_or(0, char::len_utf8)..];
            }
        }
    }
    out + rest
}
