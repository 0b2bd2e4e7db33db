//! A command in words, as a shell reads it: quotes taken off, operators found, what is run inside of it found as well.
//!
//! It reads what nearly every command is made of, and no more: it runs nothing, looks up no variable, and where it does
//! not understand it says so and reads on.

/// A simple command: words between two operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Its words, the program first; assignments before it are words as well.
    pub words: Vec<Word>,
    /// Where its streams go to and come from.
    pub redirects: Vec<Redirect>,
    /// Whether its input is the output of the one before it.
    pub piped: bool,
    /// Texts that it is given as its input.
    pub inputs: Vec<String>,
}

/// A word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Without its quotes. What a shell would put in place of `$…` is not known: it is left as it is written.
    pub text: String,
    /// As it is written.
    pub raw: String,
    /// Whether a part of it is the output of another command.
    pub computed: bool,
}

/// A redirection to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    /// Whether the file is written.
    pub writes: bool,
    /// The file.
    pub target: Word,
}

/// What a text is made of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// The simple commands, in the order in which they begin, those inside of words included.
    pub commands: Vec<Simple>,
    /// What is no command, if anything.
    pub fault: Option<&'static str>,
}

/// How deep commands may lie in one another.
const DEPTH_MAX: usize = 16;

/// Reads a command.
pub(super) fn read(text: &str) -> Read {
    let mut read = Read::default();
    read_into(text, 0, &mut read);
    read
}

fn read_into(text: &str, depth: usize, read: &mut Read) {
    if depth > DEPTH_MAX {
        read.fault = read.fault.or(Some("it is nested too deeply"));
        return;
    }
    let chars: Vec<char> = text.chars().collect();
    let mut reader =
        Reader { chars: &chars, at: 0, depth, read, now: Simple::default(), word: None, waiting: Vec::new(), open: 0 };
    reader.all();
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    depth: usize,
    read: &'a mut Read,
    now: Simple,
    word: Option<Word>,
    /// Delimiters of texts that begin on the next line.
    waiting: Vec<String>,
    /// How many round brackets are open.
    open: usize,
}

impl Reader<'_> {
    fn all(&mut self) {
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

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn fault(&mut self, what: &'static str) {
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

    fn end_word(&mut self) {
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

    /// The next part of a word.
    fn part(&mut self) {
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
    fn balanced(&mut self, opens: char, closes: char, mut depth: usize) -> String {
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
    fn command_until_bracket(&mut self) {
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
