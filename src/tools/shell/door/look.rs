//! The rules: what of a command's words refuses it.

use std::path::Path;

use super::paths::{Place, Reach};
use super::words::{Simple, Word, read};
use super::{Bounds, Refusal, programs, refuse};
use crate::workspace::GOVERNED;

/// How deep a command may be given to another as its argument.
const DEPTH_MAX: usize = 8;

/// A look at a command, and at those that are given to it.
pub(super) struct Look<'a> {
    pub bounds: &'a Bounds<'a>,
    pub depth: usize,
}

impl Look<'_> {
    pub(super) fn at(&self, text: &str) -> Option<Refusal> {
        if self.depth > DEPTH_MAX {
            return refuse("unseen", "commands are given to commands too deeply to be looked at");
        }
        if is_fork_bomb(text) {
            return refuse("fork-bomb", "a function that starts itself twice never ends");
        }
        let mut place = Place::new(self.bounds);
        let commands = read(text).commands;
        commands.iter().find_map(|command| self.simple(command, &mut place))
    }

    fn deeper(&self, text: &str) -> Option<Refusal> {
        Look { bounds: self.bounds, depth: self.depth + 1 }.at(text)
    }

    fn simple(&self, command: &Simple, place: &mut Place<'_>) -> Option<Refusal> {
        let redirects = command.redirects.iter().find_map(|redirect| {
            self.network_file(&redirect.target).or_else(|| self.path(place, &redirect.target, true, redirect.writes))
        });
        let words = body(&command.words);
        redirects.or_else(|| self.hooks(command)).or_else(|| self.program(words, command, place))
    }

    /// The rules for a program with its arguments.
    fn program(&self, words: &[Word], command: &Simple, place: &mut Place<'_>) -> Option<Refusal> {
        let (first, arguments) = words.split_first()?;
        let name = first.text.rsplit('/').next().unwrap_or("");
        if let Some(inner) = wrapped(name, arguments) {
            return self.program(inner, command, place);
        }
        self.by_name(name, arguments)
            .or_else(|| self.given_code(name, arguments, command))
            .or_else(|| self.whole_workspace(name, arguments, place))
            .or_else(|| arguments.iter().find_map(|word| self.network_file(word)))
            .or_else(|| self.path(place, first, first.text.contains('/'), false))
            .or_else(|| self.paths(name, arguments, place))
            .or_else(|| {
                if matches!(name, "cd" | "pushd") {
                    place.go(arguments.iter().find(|word| !word.text.starts_with('-')));
                }
                None
            })
    }

    fn by_name(&self, name: &str, arguments: &[Word]) -> Option<Refusal> {
        if programs::PRIVILEGE.contains(&name) || name.starts_with("mkfs") {
            return refuse("privilege", format!("`{name}` changes the machine, which no team does"));
        }
        if self.bounds.network {
            return None;
        }
        let closed = "the network is closed to commands here: use `web_fetch`";
        if programs::NETWORK.contains(&name) {
            return refuse("network", format!("`{name}`: {closed}"));
        }
        let names_another = |word: &Word| word.text.contains("://") || is_remote(&word.text);
        if programs::MAY_REACH.contains(&name) && arguments.iter().any(names_another) {
            return refuse("network", format!("`{name}` would reach another machine: {closed}"));
        }
        None
    }

    /// Commands and code that are arguments or input.
    fn given_code(&self, name: &str, arguments: &[Word], command: &Simple) -> Option<Refusal> {
        let joined = || arguments.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ");
        if programs::SHELLS.contains(&name) {
            return self.shell(arguments, command);
        }
        if name == "eval" || name == "trap" {
            let unseen = arguments.iter().any(|word| word.computed);
            return if unseen { unseen_command() } else { self.deeper(&joined()) };
        }
        if name == "find" {
            let from = arguments.iter().position(|word| matches!(&*word.text, "-exec" | "-execdir" | "-ok" | "-okdir"));
            let inner = from.map(|from| arguments[from + 1..].to_vec());
            return inner.and_then(|words| self.program(&words, &Simple::default(), &mut Place::new(self.bounds)));
        }
        let (_, options) = programs::INTERPRETERS.iter().find(|(known, _)| *known == name)?;
        let code =
            arguments.iter().position(|word| options.contains(&&*word.text)).and_then(|at| arguments.get(at + 1));
        let texts = code.map(|word| &word.text).into_iter().chain(&command.inputs);
        texts.filter_map(|code| self.code(code)).next()
    }

    fn shell(&self, arguments: &[Word], command: &Simple) -> Option<Refusal> {
        let takes_text =
            |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c');
        if let Some(at) = arguments.iter().position(takes_text) {
            let text = arguments.get(at + 1)?;
            return if text.computed { unseen_command() } else { self.deeper(&text.text) };
        }
        if let Some(refusal) = command.inputs.iter().find_map(|text| self.deeper(text)) {
            return Some(refusal);
        }
        let reads_input = arguments.iter().all(|word| word.text.starts_with('-'));
        if command.piped && reads_input { unseen_command() } else { None }
    }

    /// Code of another language: what it says that it runs and reaches.
    fn code(&self, code: &str) -> Option<Refusal> {
        let lower = code.to_lowercase();
        let says = |marks: &[&str]| marks.iter().any(|mark| lower.contains(&mark.to_lowercase()));
        if !self.bounds.network && says(programs::REACHING_CODE) {
            return refuse(
                "network",
                "the code would reach another machine, and the network is closed to commands here",
            );
        }
        let place = Place::new(self.bounds);
        let mut quoted = code.split(['\'', '"', '`']).skip(1).step_by(2);
        quoted.find_map(|text| {
            let word = Word { text: text.to_owned(), raw: text.to_owned(), computed: false };
            let path = self.path(&place, &word, false, false);
            path.or_else(|| if says(programs::RUNNING_CODE) { self.deeper(text) } else { None })
        })
    }

    /// `git commit --no-verify` and its like: checks that somebody put there on purpose.
    fn hooks(&self, command: &Simple) -> Option<Refusal> {
        let has = |text: &str| command.words.iter().any(|word| word.text == text);
        let sets = |start: &str| command.words.iter().any(|word| word.text.to_lowercase().starts_with(start));
        let git = has("git") && (has("--no-verify") || sets("core.hookspath="));
        if git || has("HUSKY=0") || has("HUSKY_SKIP_HOOKS=1") {
            return refuse("hook-bypass", "the checks of a repository are not to be gone around: mend what they find");
        }
        None
    }

    /// `rm -r` of all that the team has.
    fn whole_workspace(&self, name: &str, arguments: &[Word], place: &Place<'_>) -> Option<Refusal> {
        let recursive = |word: &Word| {
            let text = &*word.text;
            text == "--recursive" || text.starts_with('-') && !text.starts_with("--") && text.contains(['r', 'R'])
        };
        let is_all = |word: &Word| {
            let path = word.text.trim_end_matches("/*").trim_end_matches("/.");
            let word = Word { text: path.to_owned(), ..word.clone() };
            place.reach(&word, true).is_some_and(|(path, _)| path == self.bounds.workspace)
        };
        if name == "rm" && arguments.iter().any(recursive) && arguments.iter().any(is_all) {
            return refuse("whole-workspace", "this deletes everything that the team has: name what is to go");
        }
        None
    }

    fn network_file(&self, word: &Word) -> Option<Refusal> {
        let is_one = word.text.contains("/dev/tcp/") || word.text.contains("/dev/udp/");
        if is_one && !self.bounds.network {
            return refuse("network", "the network is closed to commands here: use `web_fetch`");
        }
        None
    }

    fn paths(&self, name: &str, arguments: &[Word], place: &Place<'_>) -> Option<Refusal> {
        if programs::SAY.contains(&name) {
            return None;
        }
        let own_pattern = |word: &Word| matches!(&*word.text, "-e" | "-f" | "--expression" | "--regexp" | "--file");
        let pattern_first = programs::PATTERN_FIRST.contains(&name) && !arguments.iter().any(own_pattern);
        let writes = programs::WRITERS.contains(&name);
        // Of several files the last is the one that is written, by most that write.
        let last = arguments.len().saturating_sub(1);
        let copies = matches!(name, "cp" | "install" | "ln" | "rsync");
        let is_text = |word: &Word| !word.text.starts_with('-') || word.text == "-";
        let pattern = if pattern_first { arguments.iter().position(is_text) } else { None };
        let is_message =
            |at: usize| at > 0 && matches!(&*arguments[at - 1].text, "-m" | "--message" | "-path" | "-name" | "-regex");
        arguments.iter().enumerate().find_map(|(at, word)| {
            if Some(at) == pattern || is_message(at) {
                return None;
            }
            let written = writes && (!copies || at == last) || name == "dd" && word.text.starts_with("of=");
            let written = written && !(name == "dd" && word.text.starts_with("if="));
            let known = !programs::KEYWORDS.contains(&name) && word.text.starts_with('/') && opens_files(name);
            self.path(place, word, known, written)
        })
    }

    fn path(&self, place: &Place<'_>, word: &Word, surely: bool, writes: bool) -> Option<Refusal> {
        let (path, reach) = place.reach(word, surely)?;
        let shown = base::text::cut(&path.to_string_lossy(), 200);
        match reach {
            Reach::Outside => refuse("outside", format!("`{shown}` is outside of the workspace")),
            Reach::Own if writes && self.is_governed(&path) => {
                refuse("governed", format!("`{shown}` is governed by the hive, and no team writes it"))
            }
            Reach::ReadOnly if writes => refuse("read-only", format!("`{shown}` may be read, not written")),
            Reach::Own | Reach::ReadOnly => None,
        }
    }
}

impl Look<'_> {
    /// Files of the workspace that no team writes.
    fn is_governed(&self, path: &Path) -> bool {
        let inside = path.strip_prefix(&self.bounds.workspace).ok();
        let first = inside.and_then(|inside| inside.iter().next()).map(|first| first.to_string_lossy().to_lowercase());
        first.is_some_and(|first| GOVERNED.contains(&&*first))
    }
}

/// The words from the program on: without assignments before it, and words that a command may begin with.
pub(super) fn body(words: &[Word]) -> &[Word] {
    let is_assignment = |word: &Word| {
        word.text.split_once('=').is_some_and(|(name, _)| {
            let name = name.strip_suffix('+').unwrap_or(name);
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let skipped = |word: &&Word| is_assignment(word) || programs::OPENERS.contains(&&*word.text);
    &words[words.iter().take_while(skipped).count()..]
}

/// The command that the arguments of such a program are.
fn wrapped<'a>(name: &str, arguments: &'a [Word]) -> Option<&'a [Word]> {
    let (_, with_value) = programs::WRAPPERS.iter().find(|(known, _)| *known == name)?;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = &*word.text;
        let takes_value = text.len() == 2 && text.starts_with('-') && with_value.contains(&text[1..]);
        let is_number = name == "timeout" && text.starts_with(|c: char| c.is_ascii_digit());
        let is_assignment = name == "env" && text.contains('=');
        if takes_value {
            at += 2;
        } else if text.starts_with('-') || is_number || is_assignment {
            at += 1;
        } else {
            break;
        }
    }
    Some(&arguments[at.min(arguments.len())..])
}

fn opens_files(name: &str) -> bool {
    !matches!(name, "git" | "curl" | "gh" | "npm" | "cargo" | "make" | "find")
}

/// `user@machine:path`, as `git` and `rsync` take it.
fn is_remote(text: &str) -> bool {
    text.split_once(':').is_some_and(|(machine, _)| machine.contains('@') && !machine.contains('/'))
}

fn unseen_command() -> Option<Refusal> {
    refuse("unseen", "a shell would run the output of another command: write it to a file, look at it, and run that")
}

/// `:(){ :|:& };:`, whatever its name is.
fn is_fork_bomb(text: &str) -> bool {
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    dense.match_indices("(){").any(|(at, mark)| {
        let before = &dense[..at];
        let start = before.rfind([';', '&', '|', '{', '(', '}']).map_or(0, |end| end + 1);
        let name = before[start..].trim_start_matches("function");
        let body = &dense[at + mark.len()..];
        !name.is_empty() && (body.starts_with(&format!("{name}|{name}")) || body.starts_with(&format!("{name}&{name}")))
    })
}
