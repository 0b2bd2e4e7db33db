//! Whether a value is random, or made of words, or only shows what one would look like.

/// Shannon entropy, in bits a character: 0 of one repeated character, 4 of random hexadecimal digits, almost 6 of long
/// random Base64.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    text.chars().for_each(|c| *counts.entry(c).or_insert(0_u32) += 1);
    let length = text.chars().count() as f64;
    counts.values().map(|count| f64::from(*count) / length).map(|share| -share * share.log2()).sum()
}

/// Whether a value stands for another one, or is made up to show one.
pub(super) fn is_example(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let stands_for = [("${", "}"), ("{{", "}}"), ("<", ">"), ("%", "%"), ("@", "@"), ("[", "]"), ("$(", ")")];
    let runs =
        ["abcdefghijklmnop", "0123456789abcdef0123456789abcdef", "12345678901234567890", "xxxxxxxx", "00000000000"];
    stands_for.iter().any(|(begin, end)| value.starts_with(begin) && value.ends_with(end))
        || value.starts_with('$')
        || lower.ends_with("example")
        || lower.ends_with("examplekey")
        || runs.iter().any(|run| lower.contains(run))
}

/// Words that stand in names, paths and examples, and seldom by chance in a random text: five letters or more.
const WORDS: &[&str] = &[
    "access",
    "account",
    "address",
    "admin",
    "agent",
    "application",
    "async",
    "attribute",
    "authentication",
    "authoriz",
    "background",
    "bearer",
    "boolean",
    "browser",
    "button",
    "bytes",
    "cache",
    "callback",
    "change",
    "channel",
    "class",
    "client",
    "cluster",
    "column",
    "command",
    "component",
    "config",
    "connect",
    "console",
    "constant",
    "container",
    "content",
    "context",
    "control",
    "cookie",
    "create",
    "credential",
    "customer",
    "database",
    "default",
    "delete",
    "delegate",
    "deploy",
    "description",
    "develop",
    "device",
    "dialog",
    "directory",
    "disable",
    "document",
    "domain",
    "dummy",
    "element",
    "email",
    "enable",
    "encrypt",
    "endpoint",
    "entity",
    "environ",
    "error",
    "event",
    "example",
    "export",
    "extension",
    "factory",
    "feature",
    "field",
    "filter",
    "folder",
    "format",
    "frame",
    "function",
    "generat",
    "getenv",
    "github",
    "google",
    "group",
    "handle",
    "header",
    "history",
    "hostname",
    "image",
    "import",
    "index",
    "input",
    "insert",
    "install",
    "instance",
    "interface",
    "internal",
    "invalid",
    "issuer",
    "items",
    "kernel",
    "label",
    "language",
    "layout",
    "library",
    "license",
    "local",
    "logger",
    "login",
    "manager",
    "master",
    "message",
    "method",
    "model",
    "module",
    "mysql",
    "network",
    "number",
    "object",
    "option",
    "order",
    "output",
    "package",
    "param",
    "parent",
    "parse",
    "password",
    "placeholder",
    "platform",
    "plugin",
    "policy",
    "postgres",
    "prefix",
    "primary",
    "private",
    "process",
    "product",
    "profile",
    "project",
    "property",
    "provider",
    "public",
    "query",
    "random",
    "record",
    "redact",
    "region",
    "remote",
    "replace",
    "report",
    "request",
    "required",
    "reset",
    "resource",
    "response",
    "result",
    "return",
    "router",
    "sample",
    "schema",
    "schedule",
    "screen",
    "script",
    "search",
    "secret",
    "select",
    "sender",
    "server",
    "service",
    "session",
    "setting",
    "simple",
    "source",
    "stack",
    "staging",
    "static",
    "status",
    "storage",
    "store",
    "stream",
    "string",
    "style",
    "subject",
    "submit",
    "suffix",
    "switch",
    "system",
    "table",
    "target",
    "template",
    "thread",
    "title",
    "token",
    "trigger",
    "undefined",
    "update",
    "upload",
    "username",
    "value",
    "vault",
    "vendor",
    "verify",
    "version",
    "video",
    "widget",
    "window",
    "worker",
    "wrapper",
    "your-",
    "your_",
    "change-me",
    "changeme",
    "not-a-",
    "notreal",
    "fake",
    "test",
];

/// Whether a value is made of words and numbers, as names are, and not of random characters.
pub(super) fn is_made_of_words(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let letters_only = !value.contains(|c: char| c.is_ascii_digit());
    let separated = value.split(['_', '.', '-', '/', '=', ':', '+']).filter(|part| !part.is_empty());
    let plain_part = |part: &str| {
        part.chars().all(|c| c.is_ascii_alphabetic()) || (part.len() <= 8 && part.chars().all(|c| c.is_ascii_digit()))
    };
    letters_only || separated.clone().all(plain_part) || WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_of_characters() {
        assert_eq!(entropy("aaaa"), 0.0);
        assert_eq!(entropy("abab"), 1.0);
        assert_eq!(entropy("0123456789abcdef"), 4.0);
        assert_eq!(entropy(""), 0.0);
    }

    #[test]
    fn words_and_examples_are_told_from_random_texts() {
        for text in
            ["my-access-token", "page.2024-11-21", "MyClassName2Factory", "changeme123456", "process.env.API_KEY_2"]
        {
            assert!(is_made_of_words(text), "{text}");
        }
        for text in ["a8F3kd02Lx9qPzR7", "deadbeefcafe4242", "kd8-fj3-x92-qpz"] {
            assert!(!is_made_of_words(text) && !is_example(text), "{text}");
        }
        for text in ["${TOKEN}", "{{secret:A}}", "<your key>", "$TOKEN", "AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxxxxxxxxxx"]
        {
            assert!(is_example(text), "{text}");
        }
    }
}
