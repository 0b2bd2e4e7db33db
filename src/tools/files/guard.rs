//! What the file tools would say of a path, for whoever wants to know without a workspace. Pure.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::workspace::{PathRules, Use, inside};

/// The folder that paths are judged against where nobody names one.
const ROOT: &str = "/workspace";

/// Judges one path: `{"id": …, "root": "/workspace", "path": "notes/today.md", "operation": "read"}`.
///
/// `root` is a workspace's absolute path (left out: `/workspace`; also understood: `workspace`, `cwd`), `path` what a
/// model wrote (also `file_path`), `operation` a tool's name or one of `read`, `list`, `search`, `write`, `edit`,
/// `create`, `delete`, `attach` (left out: `read`; also `op`). `protected` may list absolute paths that no team
/// writes. The answer has `id` as it was given, `decision` ("allow", "refuse"; "error" where the input makes no
/// sense), `rule` and `detail`: of an allowed path where it lies, relative to the root.
pub fn verdict(input: &Value) -> Value {
    let id = input.get("id").cloned().unwrap_or(Value::Null);
    let (decision, rule, detail) = match asked(input) {
        Err(detail) => ("error", "input", detail),
        Ok(asked) => match inside(&[asked.root], asked.path, asked.usage, &asked.rules) {
            Ok(path) => ("allow", "inside", path.to_string_lossy().into_owned()),
            Err(refusal) => ("refuse", refusal.rule.as_str(), refusal.detail),
        },
    };
    json!({ "id": id, "decision": decision, "rule": rule, "detail": detail })
}

struct Asked<'a> {
    root: PathBuf,
    path: &'a str,
    usage: Use,
    rules: PathRules,
}

fn asked(input: &Value) -> Result<Asked<'_>, String> {
    if !input.is_object() {
        return Err("expected a JSON object with `path`".to_owned());
    }
    let path = text(input, &["path", "file_path"])?.ok_or("`path` is missing")?;
    let root = text(input, &["root", "workspace", "cwd"])?.unwrap_or(ROOT);
    if !Path::new(root).is_absolute() {
        return Err("`root` is not an absolute path".to_owned());
    }
    let operation = text(input, &["operation", "op", "tool"])?.unwrap_or("read");
    let usage = match operation.to_lowercase().as_str() {
        "read" | "read_file" | "attach" | "attach_file" => Use::Read,
        "list" | "list_directory" | "grep" | "glob" | "search" => Use::List,
        "write" | "write_file" | "edit" | "edit_file" | "multi_edit" | "create" | "append" | "delete" => Use::Write,
        _ => {
            return Err(format!("`operation` is neither a file tool nor read, list, search, write, edit: {operation}"));
        }
    };
    let mut rules = PathRules::default();
    match input.get("protected") {
        None | Some(Value::Null) => {}
        Some(Value::Array(paths)) => {
            for path in paths {
                rules.protected.push(path.as_str().ok_or("`protected` takes paths")?.into());
            }
        }
        Some(_) => return Err("`protected` is not a list".to_owned()),
    }
    Ok(Asked { root: root.into(), path, usage, rules })
}

/// The first of these fields that is there.
fn text<'a>(input: &'a Value, names: &[&str]) -> Result<Option<&'a str>, String> {
    for name in names {
        match input.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => return Ok(Some(text)),
            Some(_) => return Err(format!("`{name}` is not a string")),
        }
    }
    Ok(None)
}
