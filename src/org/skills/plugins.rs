//! Plugin tools in a skill's text: a skill names them bare, a session knows them as `<team>.<tool>`.

/// The text with the team's name in front of each of these tools. Only whole words count: not what has a name in front
/// already, not a part of a longer word, and not a file (`plugins/deploy.ts`).
pub fn namespaced(text: &str, team: &str, tools: &[&str]) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    let mut before = None;
    while let Some(at) = rest.find(of_word) {
        let word = word(&rest[at..]);
        let ahead = rest[..at].chars().next_back().or(before);
        let behind = &rest[at + word.len()..];
        out.push_str(&rest[..at]);
        if tools.contains(&word) && !matches!(ahead, Some('.' | '/' | '\\')) && !is_qualified(behind) {
            out.push_str(team);
            out.push('.');
        }
        out.push_str(word);
        before = word.chars().next_back();
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// A letter of a name, or of what a name could be a part of.
fn of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

fn word(text: &str) -> &str {
    &text[..text.find(|c| !of_word(c)).unwrap_or(text.len())]
}

/// Whether what follows a word goes on with `.name` or `/name`: then the word is a file, a folder or a team.
fn is_qualified(behind: &str) -> bool {
    behind.strip_prefix(['.', '/', '\\']).is_some_and(|more| more.starts_with(of_word))
}
