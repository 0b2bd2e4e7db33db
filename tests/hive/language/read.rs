//! Text → scenario. Every fault is told with its file and line.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use channels::memory::Carried;
use channels::{Gone, Scope, SendError};
use llm::script::Turn;

use super::turns::{self, span};
use super::{Deed, Fault, FileOf, FileSaid, Line, Means, ModelSetup, Question, Says, Scenario, Setup, Verb, kind_of};

/// Reads a scenario.
///
/// # Errors
/// What is wrong, with file and line.
pub fn read(path: &Path, text: &str) -> Result<Scenario, String> {
    let mut scenario = Scenario { path: path.to_owned(), ..Scenario::default() };
    let mut slow = BTreeMap::new();
    for (at, raw) in text.lines().enumerate() {
        let number = at + 1;
        let told = |why: String| format!("{}:{number}: {why}", path.display());
        if let Some(inside) = raw.strip_prefix("  ") {
            match scenario.lines.last_mut().filter(|line| !matches!(line.means, Means::Break)) {
                Some(line) => line.block.push(inside.to_owned()),
                None => return Err(told("an indented line belongs to a line above it".to_owned())),
            }
            continue;
        }
        if let Some(rest) = raw.strip_prefix('&') {
            let above = scenario.lines.iter_mut().rev().find(|line| !matches!(line.means, Means::Continues));
            let Some(Line { means: Means::Answers { turn, .. }, .. }) = above else {
                return Err(told("`&` belongs below an answer".to_owned()));
            };
            *turn = turns::extend(turn.clone(), rest).map_err(told)?.0;
            scenario.lines.push(line(number, raw, Means::Continues));
            continue;
        }
        let means = means(raw, &mut scenario.setup, &mut slow).map_err(told)?;
        scenario.lines.push(line(number, raw, means));
    }
    if let Some((agent, _)) = slow.first_key_value() {
        return Err(format!("{}: `slow model {agent}` slows no answer: it stands above one", path.display()));
    }
    finish(&mut scenario).map_err(|(number, why)| format!("{}:{number}: {why}", path.display()))?;
    Ok(scenario)
}

fn line(number: usize, head: &str, means: Means) -> Line {
    Line { number, head: head.to_owned(), block: Vec::new(), means }
}

/// What needs the blocks: files of the set-up, long messages. And what must not stand together.
fn finish(scenario: &mut Scenario) -> Result<(), (usize, String)> {
    let crash_safe = scenario.is_crash_safe() || scenario.is_crash_lawful();
    for line in &mut scenario.lines {
        let (number, block) = (line.number, &line.block);
        match &mut line.means {
            Means::Setup => {
                if let Some(file) = file_of(&line.head, block) {
                    scenario.setup.files.push(file);
                } else if !block.is_empty() {
                    return Err((number, "this takes no indented lines".to_owned()));
                }
            }
            Means::Does(deed) => match &mut **deed {
                Deed::Says(says) => {
                    for more in block {
                        let more = more.strip_prefix('|').map(|more| more.strip_prefix(' ').unwrap_or(more));
                        let more = more.ok_or((number, "a message goes on with `  | `".to_owned()))?;
                        says.text.push('\n');
                        says.text.push_str(more);
                    }
                }
                Deed::Crashes | Deed::CrashesAfter(_) | Deed::Stops | Deed::Restarts { .. } if crash_safe => {
                    return Err((
                        number,
                        "a crash-safe or crash-lawful scenario is crashed by its trial, not by itself".to_owned(),
                    ));
                }
                _ if !block.is_empty() => return Err((number, "this takes no indented lines".to_owned())),
                _ => {}
            },
            Means::Answers { .. } | Means::Continues if !block.is_empty() => {
                return Err((number, "an answer goes on with `&`".to_owned()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn file_of(head: &str, block: &[String]) -> Option<(FileOf, String, String)> {
    let text = block.join("\n") + "\n";
    let words: Vec<&str> = head.split_whitespace().collect();
    Some(match words.as_slice() {
        ["config"] => (FileOf::Data, "config.yaml".to_owned(), text),
        ["channels"] => (FileOf::Data, "channels.yaml".to_owned(), text),
        ["rules", name] => (FileOf::Data, format!("rules/{name}.md"), text),
        ["workspace", path] => (FileOf::Workspace, format!("main/{path}"), text),
        ["workspace", "of", team, path] => (FileOf::Workspace, format!("{team}/{path}"), text),
        _ => return None,
    })
}

fn means(raw: &str, setup: &mut Setup, slow: &mut BTreeMap<String, Duration>) -> Result<Means, String> {
    let words: Vec<&str> = raw.split_whitespace().collect();
    let does = |deed| Ok(Means::Does(Box::new(deed)));
    match words.as_slice() {
        [] => Ok(Means::Break),
        [first, ..] if first.starts_with('#') => Ok(Means::Break),
        [place, "<" | "<>", ..] if place.contains('/') => Ok(Means::Seen),
        ["log", "warn" | "error", ..] => Ok(Means::Seen),
        ["facts", ..] => Ok(Means::Asks(Question::Facts(raw["facts".len()..].trim().to_owned()))),
        ["shown", place] => Ok(Means::Asks(Question::Shown((*place).to_owned()))),
        [agent, "sees", rest @ ..] => Ok(Means::Asks(sees(agent, rest, raw)?)),
        [agent, "got"] => Ok(Means::Asks(Question::Got { agent: (*agent).to_owned() })),
        ["slow", "model", agent, time] => {
            *slow.entry((*agent).to_owned()).or_default() += span(time)?;
            Ok(Means::Continues)
        }
        ["fail", "model", agent, word, rest @ ..] => {
            let (after, times) = after_and_times(rest)?;
            let turn = Turn::fail(turns::model_error(word, after)?);
            Ok(Means::Answers { agent: (*agent).to_owned(), turn, times, heard: true })
        }
        ["fail", place, "send", word, rest @ ..] => does(fails(place, word, rest)?),
        ["work", team, ..] if team.ends_with('>') => {
            let text = raw.split_once("> ").map_or("", |(_, text)| text).to_owned();
            does(Deed::Gives { team: team.trim_end_matches('>').to_owned(), text })
        }
        ["remove", place] => does(Deed::Removes((*place).to_owned())),
        ["wait", time] => does(Deed::Waits(span(time)?)),
        ["crash"] => does(Deed::Crashes),
        ["crash", "after", ..] => {
            let name = raw.split_once('"').and_then(|(_, rest)| rest.strip_suffix('"'));
            does(Deed::CrashesAfter(name.ok_or("write `crash after \"finish task\"`")?.to_owned()))
        }
        ["stop"] => does(Deed::Stops),
        ["restart"] => does(Deed::Restarts { later_ms: 0 }),
        ["restart", word] => does(Deed::Restarts { later_ms: later(word)? }),
        ["trust", rest @ ..] => does(judges(Verb::Trust, rest)?),
        ["deny", rest @ ..] => does(judges(Verb::Deny, rest)?),
        ["revoke", rest @ ..] => does(judges(Verb::Revoke, rest)?),
        ["pairing", code] => does(Deed::Pairs { code: (*code).to_owned(), lasts: Duration::from_secs(900) }),
        ["pairing", code, "for", time] => does(Deed::Pairs { code: (*code).to_owned(), lasts: span(time)? }),
        _ if sets_up(&words, setup)? => Ok(Means::Setup),
        _ if raw.contains('>') && words[0].contains('/') => does(Deed::Says(says(raw)?)),
        [place, "clicks", rest @ ..] if place.contains("/@") => {
            let (_, sender) = place.split_once("/@").expect("it has one");
            does(clicks(place, sender, rest)?)
        }
        [place, sender, "clicks", rest @ ..] if place.contains('/') => does(clicks(place, sender, rest)?),
        [first, ..] if first.ends_with(':') => answers(first.trim_end_matches(':'), raw, slow),
        _ => Err(format!("this line means nothing: {raw}")),
    }
}

/// `main sees`, `main sees 2`, `main sees with "text"`.
fn sees(agent: &str, rest: &[&str], raw: &str) -> Result<Question, String> {
    let (number, rest) = match rest {
        [] | ["with", ..] => (None, rest),
        [number, rest @ ..] => (Some(number.parse().map_err(|_| format!("`{number}` is no number"))?), rest),
    };
    let with = match rest {
        [] => None,
        _ => {
            let text = raw.split_once(" with \"").and_then(|(_, rest)| rest.strip_suffix('"'));
            Some(text.filter(|text| !text.is_empty()).ok_or("write `main sees with \"text\"`")?.to_owned())
        }
    };
    Ok(Question::Sees { agent: agent.to_owned(), number, with })
}

fn sets_up(words: &[&str], setup: &mut Setup) -> Result<bool, String> {
    match words {
        ["admins", admins @ ..] => setup.admins.extend(admins.iter().map(|&admin| admin.to_owned())),
        ["classifier"] => setup.classifier = true,
        ["model", options @ ..] => setup.model = model(options)?,
        ["team", path] => setup.teams.push((*path).to_owned()),
        ["secret", value] => setup.secrets.push((*value).to_owned()),
        ["improvise", seed] => {
            setup.improvise = Some(seed.parse().map_err(|_| format!("`{seed}` is no number"))?);
        }
        ["config" | "channels"] | ["rules" | "workspace", _] | ["workspace", "of", _, _] => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn model(options: &[&str]) -> Result<ModelSetup, String> {
    let mut model = ModelSetup::default();
    for option in options {
        let bad = || format!("`{option}`: write window=N, output=N, fallback=AGENT or prices=IN/OUT");
        let number = |text: &str| text.parse::<u64>().map_err(|_| bad());
        match option.split_once('=') {
            Some(("window", value)) => model.window_tokens = number(value)?,
            Some(("output", value)) => model.output_tokens_max = u32::try_from(number(value)?).map_err(|_| bad())?,
            Some(("fallback", agent)) => model.fallback = Some(agent.to_owned()),
            Some(("prices", both)) => {
                let (input, output) = both.split_once('/').ok_or_else(bad)?;
                model.prices = Some((number(input)?, number(output)?));
            }
            _ => return Err(bad()),
        }
    }
    Ok(model)
}

fn answers(agent: &str, raw: &str, slow: &mut BTreeMap<String, Duration>) -> Result<Means, String> {
    let rest = raw.split_once(':').map_or("", |(_, rest)| rest);
    let turn = match slow.remove(agent) {
        Some(time) => Turn::empty().and_wait(time),
        None => Turn::empty(),
    };
    let (rest, heard) = match rest.trim_end().strip_suffix(" unheard") {
        Some(rest) => (rest, false),
        None => (rest, true),
    };
    let (turn, times) = turns::extend(turn, rest)?;
    Ok(Means::Answers { agent: agent.to_owned(), turn, times, heard })
}

/// `discord/general alice mention reply=b1> text`, `discord/@alice> text`.
fn says(raw: &str) -> Result<Says, String> {
    let (left, text) = raw.split_once('>').ok_or("write `place sender> text`")?;
    let mut words = left.split_whitespace();
    let place = words.next().ok_or("a place is missing")?.to_owned();
    let mut words = words.peekable();
    let named = words.next_if(|word| !word.contains('=') && !["mention", "command"].contains(word));
    let alone = place.split_once("/@").map(|(_, name)| name);
    let sender = named.or(alone).or(place.strip_prefix("console/")).ok_or("who says that?")?.to_owned();
    let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
    let mut says = Says { sender, text, times: 1, ..Says::default() };
    for word in words {
        match word.split_once('=') {
            None if word == "mention" => says.mention = true,
            None if word == "command" => says.command = true,
            Some(("id", id)) => says.id = Some(id.to_owned()),
            Some(("edit", id)) => says.edit = Some(id.to_owned()),
            Some(("reply", id)) => says.reply = Some(id.to_owned()),
            Some(("file", file)) => says.files.push(file_said(file)?),
            Some(("times", times)) => says.times = times.parse().map_err(|_| format!("`{times}` is no number"))?,
            _ => return Err(format!("`{word}`: there are mention, command, id=, edit=, reply=, times= and file=")),
        }
    }
    Ok(Says { place, ..says })
}

fn file_said(text: &str) -> Result<FileSaid, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (name, media_type, size, there, slow) = match parts.as_slice() {
        [name, media_type, size] => (name, media_type, size, true, false),
        [name, media_type, size, "gone"] => (name, media_type, size, false, false),
        [name, media_type, size, "slow"] => (name, media_type, size, true, true),
        _ => return Err(format!("`{text}`: write file=NAME:TYPE:BYTES")),
    };
    let size_bytes = size.parse().map_err(|_| format!("`{size}` is no number of bytes"))?;
    Ok(FileSaid { name: (*name).to_owned(), media_type: (*media_type).to_owned(), size_bytes, there, slow })
}

fn clicks(place: &str, sender: &str, rest: &[&str]) -> Result<Deed, String> {
    let (label, on) = match rest {
        [label @ .., "on", message] if !label.is_empty() => (label, Some((*message).to_owned())),
        [] => return Err("write `discord/@root root clicks Trust`, or `… on b1`".to_owned()),
        label => (label, None),
    };
    Ok(Deed::Clicks { place: place.to_owned(), sender: sender.to_owned(), label: label.join(" "), on })
}

fn judges(verb: Verb, words: &[&str]) -> Result<Deed, String> {
    let (&sender, mut rest) = words.split_first().ok_or("about whom?")?;
    let (mut verb, mut place, mut lasts) = (verb, None, None);
    while !rest.is_empty() {
        rest = match rest {
            ["admin", more @ ..] if verb == Verb::Trust => {
                verb = Verb::Admin;
                more
            }
            ["in", at, more @ ..] => {
                place = Some((*at).to_owned());
                more
            }
            ["for", time, more @ ..] => {
                lasts = Some(span(time)?);
                more
            }
            [word, ..] => return Err(format!("`{word}`: there are admin, in PLACE and for TIME")),
            [] => rest,
        };
    }
    Ok(Deed::Judges { verb, sender: sender.to_owned(), place, lasts })
}

fn later(word: &str) -> Result<i64, String> {
    let ms = |text: &str| span(text).map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    match word.split_once('=') {
        Some(("after", time)) => ms(time),
        Some(("back", time)) => ms(time).map(|ms| -ms),
        _ => Err(format!("`{word}`: write after=3h, or back=3h where the clock was set back")),
    }
}

fn after_and_times(words: &[&str]) -> Result<(Option<Duration>, usize), String> {
    let (mut after, mut times) = (None, 1);
    for word in words {
        if let Some(time) = word.strip_prefix("after=") {
            after = Some(span(time)?);
        } else if let Some(number) = word.strip_prefix('x').and_then(|number| number.parse().ok()) {
            times = number;
        } else {
            return Err(format!("`{word}`: there are after=TIME and xN"));
        }
    }
    Ok((after, times))
}

fn fails(place: &str, word: &str, rest: &[&str]) -> Result<Deed, String> {
    if !place.contains('/') && kind_of(place).is_none() {
        return Err(format!("`{place}` is neither a place nor a kind"));
    }
    let (carried, rest) = match rest {
        ["out", rest @ ..] => (Carried::Out, rest),
        rest => (Carried::NotOut, rest),
    };
    let (scope, rest) = match rest {
        ["everything", rest @ ..] => (Scope::Everything, rest),
        rest => (Scope::Conversation, rest),
    };
    let (after, times) = after_and_times(rest)?;
    let error = |error| Fault::Error(error);
    let fault = match word {
        "429" => error(SendError::RateLimited { retry_after: after.unwrap_or(Duration::from_secs(1)), scope }),
        "500" => error(SendError::Transient("scripted: 500".to_owned())),
        "gone" => error(SendError::Gone(Gone::Conversation)),
        "gone-message" => error(SendError::Gone(Gone::Message)),
        "interaction" => error(SendError::Gone(Gone::Interaction)),
        "forbidden" => error(SendError::Forbidden("scripted: missing permission".to_owned())),
        "refused" => error(SendError::Refused("scripted: it is not liked".to_owned())),
        "401" => error(SendError::Unauthorized),
        "ambiguous" => Fault::Ambiguous(carried),
        "hang" => Fault::Hangs(carried),
        _ => match word.strip_prefix("moved=") {
            Some(to) => Fault::Moved(to.to_owned()),
            None => {
                return Err(format!(
                    "`{word}`: there are 429, 500, gone, gone-message, interaction, forbidden, refused, 401, ambiguous, hang and moved=PLACE"
                ));
            }
        },
    };
    Ok(Deed::Fails { place: place.to_owned(), fault, times })
}
