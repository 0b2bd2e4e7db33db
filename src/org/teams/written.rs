//! A team's own file as it stands, with its places: for whoever tells people what in it leads nowhere.

use std::collections::BTreeMap;

use base::TeamName;
use granit_parser::{Event, Parser, StrInput};

use super::config::{self, ConfigFault, TeamConfig};
use super::tree::{Tree, TreeError};

/// A team's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The file, from the run directory.
    pub file: String,
    /// What it says, whoever it takes its team for.
    pub config: TeamConfig,
    lines: BTreeMap<String, usize>,
}

impl Written {
    /// The line of a key, with those above it (`budgets.daily_usd`), from 1; else that of the nearest key above it.
    pub fn line(&self, key: &str) -> Option<usize> {
        let above = key.rmatch_indices('.').map(|(at, _)| &key[..at]);
        [key].into_iter().chain(above).find_map(|key| self.lines.get(key).copied())
    }
}

impl Tree {
    /// What stands in the file of a team that is not the root. Nothing is said of whether it can be followed.
    ///
    /// # Errors
    /// Refused where the file says nothing that can be understood, or is not there.
    pub async fn file_of_team(&self, team: &TeamName) -> Result<Written, TreeError> {
        let (text, config) = self.read_file(team).await?;
        Ok(Written { file: file_of(team), config, lines: lines(&text) })
    }

    /// The text of a team's file, and what it says.
    pub(super) async fn read_file(&self, team: &TeamName) -> Result<(String, TeamConfig), TreeError> {
        let of = team.clone();
        let bytes = self.inner.folders.off_thread("read a team's configuration", move |folders| folders.config(&of));
        let file = file_of(team);
        let bytes = bytes.await?.ok_or_else(|| TreeError::refused(format!("{file} is not there: write it anew")))?;
        let refused = |fault: ConfigFault| TreeError::refused(fault.to_string());
        let text = config::text_of(&file, bytes).map_err(refused)?;
        let config = TeamConfig::parse(&file, &text).map_err(refused)?;
        Ok((text, config))
    }
}

fn file_of(team: &TeamName) -> String {
    format!("teams/{team}/{}", config::FILE)
}

/// The lines of all keys, each with those above it. Of what is no YAML, the keys before it.
fn lines(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    // One entry a level: the key whose value is being read, and whether this level is a mapping.
    let mut open: Vec<(bool, Option<String>)> = Vec::new();
    let mut parser = Parser::new(StrInput::new(text));
    while let Some(Ok((event, span))) = parser.next_event() {
        match event {
            Event::MappingStart(..) => open.push((true, None)),
            Event::SequenceStart(..) => open.push((false, None)),
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                value_ends(&mut open);
            }
            Event::Scalar(name, ..) if matches!(open.last(), Some((true, None))) => {
                if let Some((_, key)) = open.last_mut() {
                    *key = Some(name.into_owned());
                }
                let path: Vec<&str> = open.iter().filter_map(|(_, key)| key.as_deref()).collect();
                lines.entry(path.join(".")).or_insert(span.start.line());
            }
            Event::Scalar(..) | Event::Alias(..) => value_ends(&mut open),
            _ => {}
        }
    }
    lines
}

/// The value of a key is over: the next thing in its mapping is a key.
fn value_ends(open: &mut [(bool, Option<String>)]) {
    if let Some((true, key)) = open.last_mut() {
        *key = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_line() {
        let text = "# of ops\nname: ops\nallowed_tools: [a, b]\nbudgets:\n  daily_usd: 1\n  daily_tokens: 2\n\
                    rate_limit_buckets: {k: {rps: 1}}\ntoolboxes:\n  - x\nparent: main\n";
        let written = Written { file: String::new(), config: TeamConfig::parse("", text).unwrap(), lines: lines(text) };
        for (key, line) in [
            ("name", Some(2)),
            ("allowed_tools", Some(3)),
            ("budgets", Some(4)),
            ("budgets.daily_tokens", Some(6)),
            ("rate_limit_buckets.k", Some(7)),
            // A key that is not there is looked for at the one above it.
            ("budgets.other", Some(4)),
            ("toolboxes", Some(8)),
            ("parent", Some(10)),
            ("browser", None),
        ] {
            assert_eq!(written.line(key), line, "{key}");
        }
    }

    #[test]
    fn nothing_is_too_odd_for_it() {
        for text in ["", "~", "- a", "a", "a: [", "? [x]\n: y\nb: 1", "a: &x 1\nb: *x", "{}"] {
            lines(text);
        }
        assert_eq!(lines("a: &x 1\nb: *x\nc: 3")["c"], 3);
    }
}
