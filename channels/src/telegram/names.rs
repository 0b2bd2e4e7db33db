//! User names that were seen, with their owners. The Bot API cannot look a user up by name.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::{Sender, SenderId};

/// How many names are remembered. They are a convenience: when there are more, all are forgotten.
const NAMES_MAX: usize = 10_000;

/// Who was last seen under which user name. A user has one name and a name has one user, as Telegram has it.
#[derive(Default)]
pub(super) struct Names {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    owners: HashMap<String, Sender>,
    names: HashMap<SenderId, String>,
}

impl Names {
    /// Remembers that `sender` has this name, or none any more.
    pub(super) fn saw(&self, sender: &Sender, username: Option<&str>) {
        let name = username.map(str::to_lowercase);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let same = seen.names.get(&sender.id) == name.as_ref();
        if same && name.as_ref().is_none_or(|name| seen.owners.get(name) == Some(sender)) {
            return;
        }
        if seen.owners.len() >= NAMES_MAX {
            *seen = Seen::default();
        }
        if let Some(old) = seen.names.remove(&sender.id) {
            seen.owners.remove(&old);
        }
        if let Some(name) = name {
            if let Some(former) = seen.owners.insert(name.clone(), sender.clone()) {
                seen.names.remove(&former.id);
            }
            seen.names.insert(sender.id.clone(), name);
        }
    }

    /// Who has this name, as far as was seen.
    pub(super) fn owner(&self, username: &str) -> Option<Sender> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.owners.get(&username.to_lowercase()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn a_name_belongs_to_whoever_had_it_last() {
        let sender = |id: u32| Sender { id: SenderId::new(Kind::Telegram, id), name: format!("N{id}") };
        let names = Names::default();
        names.saw(&sender(1), Some("Alice"));
        assert_eq!(names.owner("ALICE"), Some(sender(1)));
        names.saw(&sender(2), Some("alice"));
        assert_eq!(names.owner("alice"), Some(sender(2)));
        names.saw(&sender(2), Some("carol"));
        assert_eq!((names.owner("alice"), names.owner("carol")), (None, Some(sender(2))));
        names.saw(&sender(2), None);
        assert_eq!(names.owner("carol"), None);
    }
}
