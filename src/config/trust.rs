//! `trust:` in `channels.yaml` and `HIVE_ADMINS`: who may speak.
//!
//! What is not written closes: without `trust:` nobody may speak but admins and the terminal.

use std::collections::BTreeSet;

use channels::{Kind, SenderId};
use org::trust::{Access, KindPolicy, Policy};

use super::environment::Environment;
use super::fault::Log;
use super::form::{Form, one_of};
use super::id;
use super::reader::Reader;

/// The variable that names the first admins.
const ADMINS: &str = "HIVE_ADMINS";

/// Reads `trust:` and the admins.
pub(super) fn read(mut section: Reader<'_>, environment: &Environment, log: &Log) -> Policy {
    let mut policy = Policy {
        default: section.find("default_policy", &access()),
        admins: admins(environment, log),
        ..Policy::default()
    };
    let mut kinds = section.section("channels");
    for kind in Kind::ALL {
        let given = kinds.has(kind.as_str());
        let read = kind_policy(kind, kinds.section_like(kind.as_str(), "<kind>"), &policy.admins);
        if given {
            policy.kinds.insert(kind, read);
        }
    }
    kinds.finish();
    section.finish();
    policy
}

fn access() -> Form<Access> {
    one_of(&[("allow", Access::Allow), ("deny", Access::Deny)])
}

fn kind_policy(kind: Kind, mut section: Reader<'_>, admins: &BTreeSet<SenderId>) -> KindPolicy {
    let users = id::user(kind);
    let mut policy = KindPolicy {
        policy: section.find("policy", &access()),
        allow: section.list("sender_allowlist", &[], &users).into_iter().collect(),
        deny: section.list("sender_denylist", &[], &users).into_iter().collect(),
        ..KindPolicy::default()
    };
    for user in policy.allow.intersection(&policy.deny) {
        section.fault("sender_denylist", format!("`{user}` is in `sender_allowlist` as well: keep one of the two"));
    }
    for admin in admins.iter().filter(|admin| admin.kind() == kind && policy.deny.contains(admin.user())) {
        section.fault("sender_denylist", format!("`{}` is one of {ADMINS}: keep one of the two", admin.user()));
    }
    let conversations = id::conversation(kind);
    for (key, value) in section.entries("channel_overrides", "<conversation>") {
        let conversation = conversations.read(&key).map_err(|message| value.fault(format!("the key: {message}")));
        if conversation.as_ref().is_ok_and(|conversation| policy.conversations.contains_key(conversation)) {
            value.fault(id::TWICE);
        }
        let mut section = value.section();
        let access = section.find("policy", &access());
        section.require("policy", ", expected `allow` or `deny`");
        section.finish();
        if let (Ok(conversation), Some(access)) = (conversation, access) {
            policy.conversations.insert(conversation, access);
        }
    }
    section.finish();
    policy
}

/// The people of `HIVE_ADMINS`, commas between them.
fn admins(environment: &Environment, log: &Log) -> BTreeSet<SenderId> {
    let mut admins = BTreeSet::new();
    let Some(text) = environment.read(ADMINS, &Form::new("a list", |text| Some(text.to_owned())), log) else {
        return admins;
    };
    for person in text.split(',').map(str::trim) {
        match id::admin(person) {
            Err(message) => log.fault_of(ADMINS, message),
            Ok(admin) if admins.contains(&admin) => log.fault_of(ADMINS, format!("names `{admin}` twice")),
            Ok(admin) => {
                admins.insert(admin);
            }
        }
    }
    admins
}
