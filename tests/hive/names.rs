//! Names of people and places in scenarios ↔ the ids that the platforms would give them.
//!
//! A scenario says `discord/general` and `alice`; rows, tokens and texts hold digits, as they do on the platforms. In
//! texts `{alice}` stands for the digits, in both directions.

use channels::{ConversationId, Kind, Place, SenderId};

/// Who and where, by name. An id is given when a name is first met, so a scenario's ids depend on its text alone.
#[derive(Clone, Debug, Default)]
pub struct Names {
    known: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq)]
struct Named {
    kind: Kind,
    /// `alice`, `@alice`, `general`, `general/release`.
    label: String,
    /// The platform's id, without the kind.
    local: String,
    sort: Sort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Person,
    Direct,
    Room,
    Thread,
}

/// The words of the kinds that scenarios play.
pub const KINDS: [Kind; 3] = [Kind::Discord, Kind::Telegram, Kind::Console];

impl Names {
    /// The person called `name`.
    pub fn person(&mut self, kind: Kind, name: &str) -> SenderId {
        SenderId::new(kind, self.local(kind, name, Sort::Person))
    }

    /// A person written `discord/alice`.
    pub fn person_at(&mut self, path: &str) -> Result<SenderId, String> {
        let (kind, name) = split(path)?;
        Ok(self.person(kind, name))
    }

    /// A place written `discord/general`, `discord/general/thread` or `discord/@alice`.
    pub fn place(&mut self, path: &str) -> Result<(ConversationId, Place), String> {
        let (kind, label) = split(path)?;
        let sort = match label {
            label if label.starts_with('@') => Sort::Direct,
            label if label.contains('/') => Sort::Thread,
            _ if kind == Kind::Console => Sort::Direct,
            _ => Sort::Room,
        };
        let id = ConversationId::new(kind, self.local(kind, label, sort));
        let place = match sort {
            Sort::Person | Sort::Direct => Place::Direct,
            Sort::Room => Place::Group { title: label.to_owned() },
            Sort::Thread => {
                let (room, title) = label.split_once('/').unwrap_or((label, ""));
                let parent = ConversationId::new(kind, self.local(kind, room, Sort::Room));
                Place::Thread { parent, title: title.to_owned() }
            }
        };
        Ok((id, place))
    }

    /// How a scenario writes a conversation.
    pub fn path_of(&self, id: &ConversationId) -> String {
        let here = |named: &&Named| named.kind == id.kind() && named.local == id.local();
        // A private chat on Telegram has its person's id.
        let place = self.known.iter().find(|named| here(named) && named.sort != Sort::Person);
        let label = place.map(|named| named.label.clone()).or_else(|| {
            let person = |named: &&Named| named.kind == id.kind() && named.sort == Sort::Person;
            let local = id.local().strip_prefix('@').unwrap_or(id.local());
            let found = self.known.iter().filter(person).find(|named| named.local == local);
            found.map(|named| format!("@{}", named.label))
        });
        format!("{}/{}", id.kind(), label.unwrap_or_else(|| id.local().to_owned()))
    }

    /// `{alice}` → digits. Behind `discord:` and the like the kind is that one, else `kind`, unless it is written
    /// inside: `{telegram/alice}`.
    pub fn with_ids(&mut self, text: &str, kind: Option<Kind>) -> Result<String, String> {
        let mut done = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "@/-".contains(c));
            let Some((name, behind)) = after.split_once('}').filter(|(name, _)| plain(name)) else {
                done.push_str(before);
                done.push('{');
                rest = after;
                continue;
            };
            done.push_str(before);
            let prefix = KINDS.into_iter().find(|kind| done.ends_with(&format!("{kind}:")));
            let path = match (prefix, name.split_once('/')) {
                (Some(kind), _) => format!("{kind}/{name}"),
                (None, Some((word, _))) if word.parse::<Kind>().is_ok() => name.to_owned(),
                _ => format!(
                    "{}/{name}",
                    kind.ok_or_else(|| format!("`{{{name}}}` needs its kind: `{{discord/{name}}}`"))?
                ),
            };
            done.push_str(&self.any(&path)?);
            rest = behind;
        }
        done.push_str(rest);
        Ok(done)
    }

    /// Digits → `{alice}`.
    pub fn with_names(&self, text: &str, kind: Option<Kind>) -> String {
        let mut known: Vec<&Named> = self.known.iter().filter(|named| named.kind != Kind::Console).collect();
        // The longest first: a forum topic's id begins with its chat's. Of two with one id the person is meant.
        known.sort_by_key(|named| (std::cmp::Reverse(named.local.len()), named.sort as u8));
        let mut text = text.to_owned();
        for named in known {
            let Named { kind: own, label, local, .. } = named;
            text = text.replace(&format!("{own}:{local}"), &format!("{own}:{{{label}}}"));
            text = text.replace(&format!("{own}:@{local}"), &format!("{own}:{{@{label}}}"));
            let bare = if kind == Some(*own) { format!("{{{label}}}") } else { format!("{{{own}/{label}}}") };
            text = text.replace(local.as_str(), &bare);
        }
        text
    }

    /// The digits of whatever is known under a path; a person where nothing is.
    fn any(&mut self, path: &str) -> Result<String, String> {
        let (kind, label) = split(path)?;
        if let Some(known) = self.known.iter().find(|named| named.kind == kind && named.label == label) {
            return Ok(known.local.clone());
        }
        if label.starts_with('@') || label.contains('/') {
            return Ok(self.place(path)?.0.local().to_owned());
        }
        Ok(self.person(kind, label).user().to_owned())
    }

    fn local(&mut self, kind: Kind, label: &str, sort: Sort) -> String {
        if let Some(known) = self.known.iter().find(|named| named.kind == kind && named.label == label) {
            assert!(known.sort == sort || kind == Kind::Console, "`{kind}/{label}` is a person and a place");
            return known.local.clone();
        }
        let number = 1 + self.known.iter().filter(|named| named.kind == kind && named.sort == sort).count();
        let local = match (kind, sort) {
            (Kind::Console, _) => label.trim_start_matches('@').to_owned(),
            (Kind::Telegram, Sort::Person) => format!("{}", 510_000_000 + number),
            (_, Sort::Person) => format!("{}", 410_000_000 + number),
            (Kind::Telegram, Sort::Direct) => self.local(kind, label.trim_start_matches('@'), Sort::Person),
            (_, Sort::Direct) => format!("{}", 430_000_000 + number),
            (Kind::Telegram, Sort::Room) => format!("-{}", 1_005_200_000_000 + number),
            (_, Sort::Room) => format!("{}", 420_000_000 + number),
            (Kind::Telegram, Sort::Thread) => {
                let room = label.split_once('/').map_or(label, |(room, _)| room).to_owned();
                format!("{}/{}", self.local(kind, &room, Sort::Room), 40 + number)
            }
            (_, Sort::Thread) => format!("{}", 440_000_000 + number),
        };
        self.known.push(Named { kind, label: label.to_owned(), local: local.clone(), sort });
        local
    }
}

fn split(path: &str) -> Result<(Kind, &str), String> {
    let bad = || format!("`{path}` is no place or person: write `discord/general`, `telegram/@eve` or `console/local`");
    let (kind, label) = path.split_once('/').ok_or_else(bad)?;
    let kind = kind.parse::<Kind>().map_err(|_| bad())?;
    if label.is_empty() { Err(bad()) } else { Ok((kind, label)) }
}
