//! The rule of trust as tables and laws.

use proptest::prelude::*;

use super::*;

const NOW: i64 = 1_000;

fn sender(text: &str) -> SenderId {
    text.parse().expect(text)
}

fn place(text: &str) -> ConversationId {
    text.parse().expect(text)
}

/// A policy from words: `default allow`, `discord deny`, `discord+42` (allowlist), `discord-42` (denylist),
/// `discord/7 allow` (override), `admin discord:42`.
fn policy(words: &[&str]) -> Policy {
    let mut policy = Policy::default();
    let access = |word: &str| match word {
        "allow" => Access::Allow,
        "deny" => Access::Deny,
        other => panic!("{other}"),
    };
    for word in words {
        if let Some(admin) = word.strip_prefix("admin ") {
            policy.admins.insert(sender(admin));
            continue;
        }
        if let Some(given) = word.strip_prefix("default ") {
            policy.default = Some(access(given));
            continue;
        }
        let end = word.find(|c: char| !c.is_ascii_lowercase()).expect("a kind and something behind it");
        let kind: Kind = word[..end].parse().expect(word);
        let rules = policy.kinds.entry(kind).or_default();
        match (&word[end..=end], &word[end + 1..]) {
            ("+", user) => drop(rules.allow.insert(user.to_owned())),
            ("-", user) => drop(rules.deny.insert(user.to_owned())),
            ("/", rule) => {
                let (id, given) = rule.split_once(' ').expect(rule);
                rules.conversations.insert(ConversationId::new(kind, id), access(given));
            }
            (_, given) => rules.policy = Some(access(given)),
        }
    }
    policy
}

/// A row from words: `trusted discord:42`, `denied discord:42 in discord:7`, `admin discord:42 until 500`.
fn row(words: &str) -> TrustRow {
    let words: Vec<&str> = words.split(' ').collect();
    let after = |key: &str| words.iter().position(|word| *word == key).map(|at| words[at + 1]);
    TrustRow {
        sender: sender(words[1]),
        conversation: after("in").map(place),
        level: if words[0] == "denied" { TrustLevel::Denied } else { TrustLevel::Trusted },
        admin: words[0] == "admin",
        expires_at_ms: after("until").map(|ms| ms.parse().expect(ms)),
    }
}

/// Decides about discord:42 in discord:7.
fn ask(policy_words: &[&str], rows: &[&str]) -> Decision {
    ask_in(policy_words, rows, "discord:42", "discord:7", None)
}

fn ask_in(policy_words: &[&str], rows: &[&str], who: &str, at: &str, parent: Option<&str>) -> Decision {
    let rows: Vec<TrustRow> = rows.iter().map(|words| row(words)).collect();
    let (conversation, parent) = (place(at), parent.map(place));
    let place = Where { conversation: &conversation, parent: parent.as_ref() };
    decide(&policy(policy_words), &rows, &sender(who), place, NOW)
}

fn yes(reason: Reason) -> Decision {
    trusted(false, reason)
}

fn yes_admin(reason: Reason) -> Decision {
    trusted(true, reason)
}

fn silent(reason: Reason) -> Decision {
    Decision { verdict: Verdict::Denied, reason }
}

fn stranger_by(reason: Reason) -> Decision {
    Decision { verdict: Verdict::Unknown, reason }
}

#[test]
fn each_step_alone() {
    use Reason::*;
    let cases: [(&[&str], &[&str], Decision); 15] = [
        (&[], &[], stranger_by(NoPolicy)),
        (&["default allow"], &[], yes(DefaultPolicyAllow)),
        (&["default deny"], &[], stranger_by(DefaultPolicyDeny)),
        (&["discord=allow"], &[], yes(ChannelPolicyAllow)),
        (&["discord=deny"], &[], stranger_by(ChannelPolicyDeny)),
        (&["discord/7 allow"], &[], yes(ChannelOverrideAllow)),
        (&["discord/7 deny"], &[], stranger_by(ChannelOverrideDeny)),
        (&["discord+42"], &[], yes(SenderAllowlist)),
        (&["discord-42"], &[], silent(SenderDenylist)),
        (&["admin discord:42"], &[], yes_admin(Admin)),
        (&[], &["trusted discord:42"], yes(DbTrusted)),
        (&[], &["trusted discord:42 in discord:7"], yes(DbTrusted)),
        (&[], &["admin discord:42"], yes_admin(DbTrusted)),
        (&[], &["denied discord:42"], silent(DbDenied)),
        (&[], &["denied discord:42 in discord:7"], silent(DbDenied)),
    ];
    for (policy, rows, decision) in cases {
        assert_eq!(ask(policy, rows), decision, "{policy:?} {rows:?}");
    }
}

#[test]
fn an_earlier_step_beats_every_later_one() {
    use Reason::*;
    // From the last step to the first: each case adds one and changes the answer.
    let cases: [(&[&str], &[&str], Decision); 8] = [
        (&["default allow"], &[], yes(DefaultPolicyAllow)),
        (&["default allow", "discord=deny"], &[], stranger_by(ChannelPolicyDeny)),
        (&["default deny", "discord=deny", "discord/7 allow"], &[], yes(ChannelOverrideAllow)),
        (&["discord/7 deny", "discord+42"], &[], yes(SenderAllowlist)),
        (&["discord/7 deny", "discord+42", "admin discord:42"], &[], yes_admin(Admin)),
        (&["discord+42", "admin discord:42"], &["trusted discord:42"], yes_admin(DbTrusted)),
        (&["discord+42", "admin discord:42"], &["admin discord:42", "denied discord:42"], silent(DbDenied)),
        (&["discord+42", "admin discord:42", "discord-42"], &["admin discord:42"], silent(SenderDenylist)),
    ];
    for (policy, rows, decision) in cases {
        assert_eq!(ask(policy, rows), decision, "{policy:?} {rows:?}");
    }
}

#[test]
fn the_console_is_always_an_admin_and_nobody_borrows_that() {
    let closed = ["default deny", "console=deny", "console-local"];
    let decision = ask_in(&closed, &["denied console:local"], "console:local", "console:local", None);
    assert_eq!(decision, yes_admin(Reason::Console));
    for (who, at) in [("web:local", "web:page"), ("console:local", "discord:7"), ("discord:42", "console:local")] {
        let decision = ask_in(&[], &[], who, at, None);
        assert_eq!(decision, stranger_by(Reason::NoPolicy), "{who} in {at}");
    }
}

#[test]
fn one_denial_beats_every_grant_whatever_its_scope() {
    for rows in [
        ["trusted discord:42 in discord:7", "denied discord:42"],
        ["trusted discord:42", "denied discord:42 in discord:7"],
        ["admin discord:42 in discord:7", "denied discord:42 in discord:7"],
    ] {
        assert_eq!(ask(&["discord+42", "default allow"], &rows), silent(Reason::DbDenied), "{rows:?}");
    }
}

#[test]
fn a_grant_without_a_conversation_holds_in_every_conversation() {
    for at in ["discord:7", "discord:8"] {
        assert_eq!(ask_in(&[], &["trusted discord:42"], "discord:42", at, None), yes(Reason::DbTrusted), "{at}");
    }
}

#[test]
fn a_grant_for_one_conversation_holds_nowhere_else() {
    let decision = ask_in(&[], &["trusted discord:42 in discord:7"], "discord:42", "discord:8", None);
    assert_eq!(decision, stranger_by(Reason::NoPolicy));
    let rows = ["trusted discord:42", "admin discord:42 in discord:8"];
    assert_eq!(ask(&[], &rows), yes(Reason::DbTrusted), "the admin role of another conversation");
}

#[test]
fn rows_and_lists_of_others_mean_nothing() {
    let rows = ["trusted discord:43", "admin telegram:42", "denied discord:4", "denied telegram:42 in telegram:7"];
    let policy = ["discord+43", "telegram+42", "telegram-42", "telegram=allow", "discord/8 allow", "admin telegram:42"];
    assert_eq!(ask(&policy, &rows), stranger_by(Reason::NoPolicy));
}

#[test]
fn each_platform_has_its_own_lists_and_empty_lists_let_nobody_in() {
    for (who, at) in [("discord:42", "discord:7"), ("telegram:42", "telegram:7"), ("web:42", "web:7")] {
        let kind = who.split(':').next().expect("a kind");
        let listed = [format!("{kind}+42")];
        let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
        assert_eq!(ask_in(&listed, &[], who, at, None), yes(Reason::SenderAllowlist), "{who}");

        let mut empty = Policy::default();
        empty.kinds.insert(kind.parse().expect(kind), KindPolicy::default());
        let (conversation, sender) = (place(at), sender(who));
        let place = Where { conversation: &conversation, parent: None };
        assert_eq!(decide(&empty, &[], &sender, place, NOW), stranger_by(Reason::NoPolicy), "{who}");
    }
}

#[test]
fn a_thread_follows_the_place_it_belongs_to_unless_it_has_a_word_of_its_own() {
    use Reason::*;
    let in_thread =
        |policy: &[&str], rows: &[&str]| ask_in(policy, rows, "telegram:42", "telegram:-100/7", Some("telegram:-100"));
    assert_eq!(in_thread(&["telegram/-100 allow"], &[]), yes(ChannelOverrideAllow));
    assert_eq!(in_thread(&["telegram/-100 allow", "telegram/-100/7 deny"], &[]), stranger_by(ChannelOverrideDeny));
    assert_eq!(in_thread(&["telegram/-100 deny", "telegram/-100/7 allow"], &[]), yes(ChannelOverrideAllow));
    assert_eq!(in_thread(&[], &["trusted telegram:42 in telegram:-100"]), yes(DbTrusted));
    assert_eq!(in_thread(&[], &["admin telegram:42 in telegram:-100/7"]), yes_admin(DbTrusted));
    let both = ["trusted telegram:42 in telegram:-100/7", "denied telegram:42 in telegram:-100"];
    assert_eq!(in_thread(&[], &both), silent(DbDenied));
    // The other way round a thread's grant opens neither its parent nor its sister.
    for at in ["telegram:-100", "telegram:-100/8"] {
        let decision = ask_in(&[], &["trusted telegram:42 in telegram:-100/7"], "telegram:42", at, None);
        assert_eq!(decision, stranger_by(NoPolicy), "{at}");
    }
}

#[test]
fn a_row_holds_until_its_last_millisecond() {
    for (until, decision) in [
        (NOW + 1, yes(Reason::DbTrusted)),
        (NOW, stranger_by(Reason::NoPolicy)),
        (NOW - 1, stranger_by(Reason::NoPolicy)),
    ] {
        assert_eq!(ask(&[], &[&format!("trusted discord:42 until {until}")]), decision, "{until}");
    }
    // A denial that has run out gives way to the grant beside it.
    let rows = ["trusted discord:42", "denied discord:42 in discord:7 until 999"];
    assert_eq!(ask(&[], &rows), yes(Reason::DbTrusted));
}

#[test]
fn the_admin_role_adds_up_and_never_comes_from_a_list() {
    assert_eq!(ask(&[], &["trusted discord:42 in discord:7", "admin discord:42"]), yes_admin(Reason::DbTrusted));
    assert_eq!(ask(&["admin discord:42"], &["trusted discord:42 in discord:7"]), yes_admin(Reason::DbTrusted));
    assert_eq!(ask(&["discord+42", "default allow"], &[]), yes(Reason::SenderAllowlist));
    assert_eq!(ask(&[], &["admin discord:42 until 999"]), stranger_by(Reason::NoPolicy));
}

#[test]
fn every_reason_has_its_own_code_and_serialises_as_it() {
    let codes: std::collections::BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(codes.len(), Reason::ALL.len());
    for reason in Reason::ALL {
        assert_eq!(serde_json::to_value(reason).expect("a string"), reason.as_str());
    }
}

/// Few ids, so that they meet.
fn a_sender() -> impl Strategy<Value = SenderId> {
    prop::sample::select(vec!["discord:1", "discord:2", "telegram:1", "web:1", "console:1"]).prop_map(sender)
}

fn a_place() -> impl Strategy<Value = ConversationId> {
    prop::sample::select(vec!["discord:1", "discord:2", "telegram:1", "telegram:1/5", "web:1", "console:1"])
        .prop_map(place)
}

fn an_access() -> impl Strategy<Value = Access> {
    prop::sample::select(vec![Access::Allow, Access::Deny])
}

fn a_row() -> impl Strategy<Value = TrustRow> {
    (a_sender(), prop::option::of(a_place()), any::<bool>(), any::<bool>(), prop::option::of(NOW - 2..NOW + 3))
        .prop_map(|(sender, conversation, trusts, admin, expires_at_ms)| TrustRow {
            sender,
            conversation,
            level: if trusts { TrustLevel::Trusted } else { TrustLevel::Denied },
            admin,
            expires_at_ms,
        })
}

fn a_kind_policy() -> impl Strategy<Value = KindPolicy> {
    let ids = || prop::collection::btree_set("[12]", 0..2);
    (prop::option::of(an_access()), ids(), ids(), prop::collection::btree_map(a_place(), an_access(), 0..3))
        .prop_map(|(policy, allow, deny, conversations)| KindPolicy { policy, allow, deny, conversations })
}

fn a_policy() -> impl Strategy<Value = Policy> {
    let kinds = prop::collection::btree_map(prop::sample::select(Kind::ALL.to_vec()), a_kind_policy(), 0..4);
    let admins = prop::collection::btree_set(a_sender(), 0..2);
    (prop::option::of(an_access()), kinds, admins).prop_map(|(default, kinds, admins)| Policy {
        default,
        kinds,
        admins,
    })
}

/// How far a verdict lets in: an admin further than a trusted sender, a stranger no further than a denied one.
fn width(decision: Decision) -> u8 {
    match decision.verdict {
        Verdict::Denied | Verdict::Unknown => 0,
        Verdict::Trusted { admin: false } => 1,
        Verdict::Trusted { admin: true } => 2,
    }
}

proptest! {
    #[test]
    fn the_order_and_number_of_rows_mean_nothing(
        policy in a_policy(), rows in prop::collection::vec(a_row(), 0..6), who in a_sender(), at in a_place(),
        parent in prop::option::of(a_place()), turn in 0usize..6,
    ) {
        let place = Where { conversation: &at, parent: parent.as_ref() };
        let decision = decide(&policy, &rows, &who, place, NOW);
        let mut other = rows.clone();
        other.reverse();
        other.rotate_left(turn.min(rows.len()));
        other.extend(rows.iter().cloned());
        prop_assert_eq!(decide(&policy, &other, &who, place, NOW), decision);
    }

    #[test]
    fn a_denial_never_widens_and_silences_at_once_where_it_holds(
        policy in a_policy(), mut rows in prop::collection::vec(a_row(), 0..6), more in a_row(), who in a_sender(),
        at in a_place(), parent in prop::option::of(a_place()),
    ) {
        let place = Where { conversation: &at, parent: parent.as_ref() };
        let before = decide(&policy, &rows, &who, place, NOW);
        let denial = TrustRow { level: TrustLevel::Denied, ..more };
        let holds = denial.counts(&who, place, NOW);
        rows.push(denial);
        let after = decide(&policy, &rows, &who, place, NOW);
        prop_assert!(width(after) <= width(before));
        if holds && before.reason != Reason::Console {
            prop_assert_eq!(after.verdict, Verdict::Denied);
        }
    }

    #[test]
    fn who_is_named_nowhere_is_never_let_in_without_an_open_policy(
        mut policy in a_policy(), rows in prop::collection::vec(a_row(), 0..6), at in a_place(),
        parent in prop::option::of(a_place()),
    ) {
        policy.default = None;
        for rules in policy.kinds.values_mut() {
            rules.policy = None;
            rules.conversations.clear();
        }
        for kind in Kind::ALL {
            let nobody = SenderId::new(kind, "nobody");
            let decision = decide(&policy, &rows, &nobody, Where { conversation: &at, parent: parent.as_ref() }, NOW);
            if decision.reason != Reason::Console {
                prop_assert_eq!(decision, stranger_by(Reason::NoPolicy));
            }
        }
    }

    #[test]
    fn the_denylist_beats_all_but_the_console(
        mut policy in a_policy(), rows in prop::collection::vec(a_row(), 0..6), who in a_sender(), at in a_place(),
    ) {
        policy.kinds.entry(who.kind()).or_default().deny.insert(who.user().to_owned());
        let decision = decide(&policy, &rows, &who, Where { conversation: &at, parent: None }, NOW);
        let console = who.kind() == Kind::Console && at.kind() == Kind::Console;
        prop_assert_eq!(decision, if console { yes_admin(Reason::Console) } else { silent(Reason::SenderDenylist) });
    }

    #[test]
    fn an_expired_row_is_as_good_as_none(
        policy in a_policy(), rows in prop::collection::vec(a_row(), 0..6), who in a_sender(), at in a_place(),
    ) {
        let place = Where { conversation: &at, parent: None };
        let live: Vec<TrustRow> =
            rows.iter().filter(|row| row.expires_at_ms.is_none_or(|end| end > NOW)).cloned().collect();
        prop_assert_eq!(decide(&policy, &rows, &who, place, NOW), decide(&policy, &live, &who, place, NOW));
    }

    #[test]
    fn the_reason_always_fits_the_verdict(
        policy in a_policy(), rows in prop::collection::vec(a_row(), 0..6), who in a_sender(), at in a_place(),
    ) {
        let decision = decide(&policy, &rows, &who, Where { conversation: &at, parent: None }, NOW);
        let code = decision.reason.as_str();
        let fits = match decision.verdict {
            Verdict::Trusted { admin: true } => ["console", "admin", "db_trusted"].contains(&code),
            Verdict::Trusted { admin: false } => ["db_trusted", "sender_allowlist"].contains(&code) || code.ends_with("_allow"),
            Verdict::Denied => ["sender_denylist", "db_denied"].contains(&code),
            Verdict::Unknown => code == "no_policy" || code.ends_with("_deny"),
        };
        prop_assert!(fits, "{:?}", decision);
    }
}
