//! `/pair CODE`: makes whoever runs the hive an admin. The code is printed by `hive pair` and works once.

use anyhow::Result;
use channels::{Content, OptionKind};
use org::trust::change::{self, Actor, Change, Role, Via};
use store::{Conn, pairings};

use super::{Asked, Command, Takes, Who};

/// The length of a code: 8 characters of 30 are 39 bits, and a code lives for minutes.
pub const CODE_CHARS: usize = 8;
/// So many wrong codes of one sender within [`TRIES_WITHIN`], then no code of theirs is looked at.
const TRIES_MAX: i64 = 5;
const TRIES_WITHIN: i64 = 3_600_000;

pub(super) const PAIR: Command = Command {
    name: "pair",
    about: "Become an admin with a code of whoever runs me",
    who: Who::Anybody,
    takes: &[Takes {
        name: "code",
        about: "the code that `hive pair` printed",
        kind: OptionKind::Text,
        required: true,
    }],
    run: |conn, asked| Box::pin(run(conn, asked)),
};

/// Whether an event is this command: the one that an unknown sender may give.
pub fn is_pairing(content: &Content) -> bool {
    match content {
        Content::Command { name, .. } => name == "pair",
        Content::Text(said) => {
            let mut words = said.text.split_whitespace();
            words.next().is_some_and(|word| word.eq_ignore_ascii_case("/pair"))
        }
        _ => false,
    }
}

/// What is kept of a code. Case and dashes do not count: people type codes.
pub fn digest(code: &str) -> String {
    let plain: String = code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect();
    base::secret::digest(&plain)
}

async fn run(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let sender = &asked.event.sender.id;
    let tried = pairings::tries(conn, sender, asked.now - TRIES_WITHIN).await?;
    if tried >= TRIES_MAX {
        return Ok("Too many wrong codes. Try again in an hour.".to_owned());
    }
    let code = asked.value("code").unwrap_or_default();
    if !pairings::redeem(conn, &digest(code), sender, asked.now).await? {
        pairings::add_try(conn, sender, asked.now).await?;
        return Ok("This code is wrong, was used, or has expired. `hive pair` prints a new one.".to_owned());
    }
    let change =
        Change { sender: sender.clone(), conversation: None, actor: Actor::Pairing, via: Via::Pairing, at: asked.now };
    Ok(match change::grant(conn, &asked.facts.policy, &change, Role::Admin, None).await? {
        Ok(_) => format!("You are an admin now, `{sender}`. `/help` lists what you can do."),
        Err(refusal) => format!("The code is right, but {refusal}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_same_however_it_is_typed() {
        assert_eq!(digest("abcd-2345"), digest(" ABCD2345 "));
        assert_ne!(digest("ABCD2345"), digest("ABCD2346"));
    }

    #[test]
    fn only_the_command_itself_is_pairing() {
        let text = |text: &str| Content::Text(channels::Text { text: text.into(), ..Default::default() });
        assert!(is_pairing(&text("/pair ABC")) && is_pairing(&text("/PAIR x")));
        assert!(!is_pairing(&text("/pairs x")) && !is_pairing(&text("please /pair x")) && !is_pairing(&text("")));
    }
}
