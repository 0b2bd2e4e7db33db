//! Discord's markup of mentions → text that people and models can read. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// Who we are on Discord.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Us {
    /// The bot's user id.
    pub id: u64,
    /// The bot's name.
    pub name: String,
    /// The roles that Discord made for the bot itself: people pick them by mistake and mean the bot.
    pub roles: BTreeSet<u64>,
}

/// One thing between `<` and `>`.
#[derive(Debug, PartialEq, Eq)]
enum Mark<'a> {
    User(u64),
    Role(u64),
    Channel(u64),
    Emoji(&'a str),
}

impl Us {
    /// `text` without mentions of us at its start.
    pub(super) fn addressed_off<'a>(&self, text: &'a str) -> &'a str {
        let mut rest = text.trim_start();
        while let Some((mark, after)) = mark(rest) {
            match mark {
                Mark::User(id) if id == self.id => rest = after.trim_start(),
                Mark::Role(id) if self.roles.contains(&id) => rest = after.trim_start(),
                _ => break,
            }
        }
        rest
    }
}

/// `text` with mentions as `@name`, channels as `#name`, custom emoji as `:name:`. What has no known name stays.
pub(super) fn readable(text: &str, names: &BTreeMap<u64, String>, channel: impl Fn(u64) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some((found, after)) = mark(rest) else {
            out.push('<');
            rest = &rest[1..];
            continue;
        };
        let name = match found {
            Mark::User(id) => names.get(&id).map(|name| format!("@{name}")),
            Mark::Channel(id) => channel(id).map(|name| format!("#{name}")),
            Mark::Emoji(name) => Some(format!(":{name}:")),
            Mark::Role(_) => None,
        };
        out.push_str(name.as_deref().unwrap_or(&rest[..rest.len() - after.len()]));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The mark at the start of `text`, and what follows it.
fn mark(text: &str) -> Option<(Mark<'_>, &str)> {
    let (inner, after) = text.strip_prefix('<')?.split_once('>')?;
    let id = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
    let found = if let Some(role) = inner.strip_prefix("@&") {
        Mark::Role(id(role)?)
    } else if let Some(user) = inner.strip_prefix("@!").or_else(|| inner.strip_prefix('@')) {
        Mark::User(id(user)?)
    } else if let Some(channel) = inner.strip_prefix('#') {
        Mark::Channel(id(channel)?)
    } else {
        let (name, number) = inner.strip_prefix("a:").or_else(|| inner.strip_prefix(':'))?.split_once(':')?;
        id(number)?;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        Mark::Emoji(plain.then_some(name)?)
    };
    Some((found, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us() -> Us {
        Us { id: 7, name: "hive".into(), roles: [70].into() }
    }

    #[test]
    fn only_our_mention_and_only_at_the_start_is_taken_off() {
        let table = [
            ("<@7> hello", "hello"),
            ("  <@!7>\n hello", "hello"),
            ("<@&70>hello", "hello"),
            ("<@7> <@7> hello", "hello"),
            ("<@7>", ""),
            ("hello <@7>", "hello <@7>"),
            ("<@8> hello", "<@8> hello"),
            ("<@&71> hello", "<@&71> hello"),
            ("<@7x> hello", "<@7x> hello"),
            ("< @7> hello", "< @7> hello"),
            ("", ""),
        ];
        for (text, want) in table {
            assert_eq!(us().addressed_off(text), want, "{text:?}");
        }
    }

    #[test]
    fn marks_become_names_and_everything_else_stays_as_it_was() {
        let names = [(1, "Ann".to_owned())].into();
        let channel = |id| (id == 5).then(|| "general".to_owned());
        let table = [
            ("ask <@1> and <@!1>", "ask @Ann and @Ann"),
            ("ask <@2>", "ask <@2>"),
            ("in <#5>, not <#6>", "in #general, not <#6>"),
            ("<:wave:99><a:dance_2:98>", ":wave::dance_2:"),
            ("<@&3> <t:1700000000> </help:12>", "<@&3> <t:1700000000> </help:12>"),
            ("a < b > c <<@1>> <", "a < b > c <@Ann> <"),
            ("<@99999999999999999999999>", "<@99999999999999999999999>"),
            ("<@> <#> <::> <", "<@> <#> <::> <"),
        ];
        for (text, want) in table {
            assert_eq!(readable(text, &names, channel), want, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn text_without_marks_is_left_alone(text in "[^<>]*") {
            proptest::prop_assert_eq!(readable(&text, &BTreeMap::new(), |_| None), text);
        }

        #[test]
        fn no_text_breaks_the_reader(text in "[<>@#&!:a7 é]*") {
            readable(us().addressed_off(&text), &BTreeMap::new(), |_| None);
        }
    }
}
