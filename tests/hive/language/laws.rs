//! What the language promises whoever writes a scenario.

use std::path::Path;

use channels::Kind;
use libtest_mimic::{Failed, Trial};

use super::read;
use crate::names::Names;
use crate::scenarios::difference;

/// A trial for each promise.
pub fn trials() -> Vec<Trial> {
    let trial = |name: &str, law: fn() -> Result<(), Failed>| Trial::test(format!("language: {name}"), law);
    vec![
        trial("a fault is told with its file and line", faults),
        trial("names are read back from ids", names),
        trial("a difference shows what differs", differences),
    ]
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("found {found:?}, expected {expected:?}").into()) }
}

fn faults() -> Result<(), Failed> {
    for (text, fault) in [
        ("\n\nnonsense here", "3: this line means nothing: nonsense here"),
        ("  indented", "1: an indented line belongs to a line above it"),
        ("& \"more\"", "1: `&` belongs below an answer"),
        ("wait soon", "1: `soon` is no time: write `90s`, `2h` or `250ms`"),
        ("main:", "1: an answer without anything is written `nothing`"),
        ("discord/general> hello", "1: who says that?"),
        (
            "discord/@alice shouting=1> hello",
            "1: `shouting=1`: there are mention, command, id=, edit=, reply=, times= and file=",
        ),
        ("fail somewhere send 429", "1: `somewhere` is neither a place nor a kind"),
        ("crash after finish", "1: write `crash after \"finish task\"`"),
        ("main sees with text", "1: write `main sees with \"text\"`"),
        ("main sees often with \"text\"", "1: `often` is no number"),
        ("model size=3", "1: `size=3`: write window=N, output=N, fallback=AGENT or prices=IN/OUT"),
        ("# crash-safe\ncrash", "2: a crash-safe or crash-lawful scenario is crashed by its trial, not by itself"),
        ("# crash-lawful\nstop", "2: a crash-safe or crash-lawful scenario is crashed by its trial, not by itself"),
        ("trust discord/bob twice", "1: `twice`: there are admin, in PLACE and for TIME"),
    ] {
        let found = read(Path::new("x.hive"), text).err();
        same(&found, &Some(format!("x.hive:{fault}")))?;
    }
    let slow = read(Path::new("x.hive"), "slow model main 3s").err();
    same(&slow, &Some("x.hive: `slow model main` slows no answer: it stands above one".to_owned()))
}

fn names() -> Result<(), Failed> {
    let mut names = Names::default();
    for text in
        ["hi {alice}", "`discord:{alice}` in {general/plans}", "telegram:{alice}", "{telegram/alice} {odd name}"]
    {
        let ids = names.with_ids(text, Some(Kind::Discord))?;
        same(&names.with_names(&ids, Some(Kind::Discord)), &text.to_owned())?;
        if text != "{odd name}" && ids == text {
            return Err(format!("no id was put into {text}").into());
        }
    }
    same(&names.with_ids("{alice}", None).is_err(), &true)
}

fn differences() -> Result<(), Failed> {
    same(&difference("a\nb\nc\n", "a\nx\ny\nc\n"), &"  1: a\n- 2: b\n+ x\n+ y".to_owned())
}
