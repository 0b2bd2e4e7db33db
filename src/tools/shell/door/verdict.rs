//! The door for outsiders: a question in, an answer out.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::words::read;
use super::{Bounds, Refusal, refusal, refuse};
use crate::shell::system;

/// The workspace where none is named.
const WORKSPACE: &str = "/workspace";

/// The door for outsiders: `command`, and if wanted `id`, `workspace` (an absolute path), `cwd` (in it), `network`
/// (whether it is granted) and `read` (paths that are granted besides). The answer has `id`, `decision` (`allow`,
/// `refuse`, or `error` where the input is none), `rule` and `detail`. Pure.
///
/// Here a command that no shell would take is refused too (`syntax`).
pub fn verdict(input: &Value) -> Value {
    let id = input.get("id").cloned().unwrap_or(Value::Null);
    let (decision, rule, detail) = match Question::read(input) {
        Err(why) => ("error", None, why),
        Ok(question) => match question.answer() {
            Some(refusal) => ("refuse", Some(refusal.rule), refusal.detail),
            None => ("allow", None, "no rule refuses it; the kernel keeps its bounds".to_owned()),
        },
    };
    json!({ "id": id, "decision": decision, "rule": rule, "detail": detail })
}

struct Question<'a> {
    command: &'a str,
    workspace: PathBuf,
    folder: PathBuf,
    network: bool,
    read: Vec<PathBuf>,
}

impl<'a> Question<'a> {
    fn read(input: &'a Value) -> Result<Question<'a>, String> {
        const KNOWN: &[&str] = &["id", "command", "cwd", "network", "read", "workspace"];
        let fields = input.as_object().ok_or("expected a JSON object")?;
        if let Some(unknown) = fields.keys().find(|key| !KNOWN.contains(&&***key)) {
            return Err(format!("unknown key `{unknown}`, expected one of {KNOWN:?}"));
        }
        let given = |key: &str| fields.get(key).filter(|value| !value.is_null());
        let text = |key: &str| {
            given(key).map(|value| value.as_str().ok_or_else(|| format!("{key}: expected text"))).transpose()
        };
        let command = text("command")?.ok_or("command: expected text")?;
        let workspace = PathBuf::from(text("workspace")?.unwrap_or(WORKSPACE));
        if !workspace.is_absolute() {
            return Err("workspace: expected an absolute path".to_owned());
        }
        let workspace = system::tidy(&workspace);
        let folder = system::tidy(&workspace.join(text("cwd")?.unwrap_or("")));
        let network = match given("network") {
            None => false,
            Some(value) => value.as_bool().ok_or("network: expected true or false")?,
        };
        let read = match given("read") {
            None => Vec::new(),
            Some(value) => paths_of(value).ok_or("read: expected a list of absolute paths")?,
        };
        Ok(Question { command, workspace, folder, network, read })
    }

    fn answer(&self) -> Option<Refusal> {
        if self.command.trim().is_empty() || self.command.contains('\0') {
            return refuse("syntax", "there is no command, or a NUL in it");
        }
        if !self.folder.starts_with(&self.workspace) {
            return refuse("outside", "`cwd` leads out of the workspace");
        }
        let (workspace, folder) = (self.workspace.clone(), self.folder.clone());
        let bounds = Bounds { workspace, folder, network: self.network, read: &self.read };
        let fault = read(self.command).fault;
        let once_more = decoded(self.command).and_then(|text| refusal(&text, &bounds));
        once_more
            .or_else(|| refusal(self.command, &bounds))
            .or_else(|| refuse("syntax", format!("no shell takes this: {}", fault?)))
    }
}

fn paths_of(value: &Value) -> Option<Vec<PathBuf>> {
    value.as_array()?.iter().map(|path| path.as_str().map(PathBuf::from).filter(|path| path.is_absolute())).collect()
}

/// The text with `%2F` and its like read as what they stand for, if there are any: some take them off once more.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let byte = more.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    let decoded = String::from_utf8_lossy(&bytes).into_owned();
    (decoded != text).then_some(decoded)
}
