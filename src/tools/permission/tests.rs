//! The whole space of records and grants, against the rules in words.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::catalogue::ActiveSet;
use crate::spec::{Domain, Ops};
use crate::testing;

const NATIVE: [&str; 7] =
    ["read", "write_file", "think", "deploy", "report_to_parent", "delegate_to", "activate_skill"];
const PATTERNS: [&str; 16] = [
    "*",
    "**",
    "?*",
    "*.*",
    "e*",
    "eng*",
    "eng.*",
    "eng.deploy",
    "*deploy",
    "mcp_*",
    "mcp__*",
    "mcp__git__push",
    "read",
    "read_file",
    "deploy",
    "",
];

fn tool() -> impl Strategy<Value = Spec> {
    let named = prop_oneof![
        prop::sample::select(NATIVE.to_vec()).prop_map(|name| (name, Source::Native)),
        prop::sample::select(vec!["deploy", "mine"]).prop_map(|name| (name, Source::Custom)),
        Just(("eng.deploy", Source::Plugin)),
        Just(("mcp__git__push", Source::Mcp)),
        Just(("score", Source::Internal { id: Cow::Borrowed("orxa:score@1.0.0") })),
    ];
    let availability = prop::sample::select(vec![Availability::Main, Availability::Sub, Availability::Both]);
    let partition = prop::sample::select(vec![Partition::Read, Partition::Write, Partition::Delegate]);
    let effect = prop::sample::select(vec![Effect::ReadOnly, Effect::Idempotent, Effect::Once]);
    let provenance = prop::sample::select(vec![Provenance::Anyone, Provenance::Admin]);
    (named, availability, partition, effect, provenance, any::<bool>()).prop_map(
        |((name, source), availability, partition, effect, provenance, default_disabled)| Spec {
            name: Cow::Borrowed(name),
            aliases: if name == "read" { &["read_file"] } else { &[] },
            domain: if source.as_str() == "internal" { Domain::Internal } else { Domain::Org },
            source,
            availability,
            partition,
            effect,
            provenance,
            default_disabled,
            ops: Ops::Daily,
            ..testing::spec("x")
        },
    )
}

fn patterns() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(PATTERNS.to_vec()).prop_map(str::to_owned), 0..4)
}

fn parent() -> impl Strategy<Value = Option<ActiveSet>> {
    let names = [&NATIVE[..], &["mine", "eng.deploy", "mcp__git__push", "score"]].concat();
    let set = prop::collection::vec(prop::sample::select(names), 0..6);
    prop::option::of(set.prop_map(|names| names.into_iter().collect()))
}

fn grant() -> impl Strategy<Value = Grant> {
    let boxes = prop::collection::vec(patterns(), 0..3).prop_map(|boxes| {
        let named = boxes.into_iter().enumerate();
        named.map(|(at, tools)| Toolbox { name: format!("box{at}"), tools }).collect::<Vec<_>>()
    });
    let agent = prop::sample::select(AgentKind::ALL.to_vec());
    let sender = prop::sample::select(vec![(false, false), (true, false), (true, true)]);
    (agent, patterns(), prop::option::of(boxes), patterns(), parent(), plugins(), prop::option::of(remit()), sender)
        .prop_map(|(agent, allowed_tools, toolboxes, direct, parent, plugins, remit, (trusted, admin))| Grant {
            agent,
            allowed_tools,
            toolboxes,
            direct,
            parent,
            plugins,
            remit,
            trusted,
            admin,
        })
}

/// What the file of a subagent may say.
fn remit() -> impl Strategy<Value = Remit> {
    let skills = prop::collection::vec(Just("ship".to_owned()), 0..2);
    (prop::option::of(patterns()), skills).prop_map(|(tools, skills)| Remit { tools, skills })
}

/// Nothing known, everything as it must be, or something in between.
fn plugins() -> impl Strategy<Value = BTreeMap<String, PluginFacts>> {
    let facts = any::<[bool; 4]>().prop_map(|[declared, active, verified, unchanged]| PluginFacts {
        declared,
        active,
        verified,
        unchanged,
    });
    let facts = prop_oneof![Just(PluginFacts::all()), facts];
    prop::option::of(facts).prop_map(|facts| facts.map(|facts| ("eng.deploy".to_owned(), facts)).into_iter().collect())
}

/// Every tool that there is in these tests, each with one record.
fn universe() -> impl Strategy<Value = Vec<Spec>> {
    prop::collection::vec(tool(), 1..12).prop_map(|mut tools| {
        let mut seen = std::collections::BTreeSet::new();
        tools.retain(|tool| seen.insert(tool.name.to_string()));
        tools
    })
}

/// Whether the floor holds the tool.
fn on_floor(tool: &Spec, grant: &Grant) -> bool {
    let available = match tool.availability {
        Availability::Main => grant.agent == AgentKind::Main,
        Availability::Sub => grant.agent != AgentKind::Main,
        Availability::Both => true,
    };
    let in_floor = grant.agent.floor().any(|name| tool.names().any(|own| own == name));
    available && tool.source == Source::Native && in_floor && in_file(tool, grant)
}

/// Whether a subagent's file leaves it this tool of the floor.
fn in_file(tool: &Spec, grant: &Grant) -> bool {
    let Some(at_most) = grant.remit.as_ref().and_then(|remit| remit.tools.as_ref()) else { return true };
    let named = at_most.iter().any(|pattern| tool.names().any(|name| glob::matches(pattern, name)));
    named || ["think", "report_to_parent"].contains(&&*tool.name)
}

/// Whether the session has the tool whatever its lists say.
fn without_lists(tool: &Spec, grant: &Grant) -> bool {
    let follows = grant.remit.as_ref().is_some_and(|remit| !remit.skills.is_empty());
    let available = tool.availability == Availability::Both
        || (tool.availability == Availability::Main) == (grant.agent == AgentKind::Main);
    let own_skills = follows && available && tool.name == "activate_skill" && tool.source == Source::Native;
    own_skills || on_floor(tool, grant)
}

/// Every list that could have granted something.
fn lists(grant: &Grant) -> impl Iterator<Item = &String> {
    let boxes = grant.toolboxes.iter().flatten().flat_map(|toolbox| &toolbox.tools);
    grant.allowed_tools.iter().chain(&grant.direct).chain(boxes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn nobody_gets_more_than_the_rules_give(tool in tool(), grant in grant()) {
        let verdict = decide(&tool, &grant);
        let shown = shown(&tool, &grant);
        let floor = without_lists(&tool, &grant);
        prop_assert!(!verdict.allowed || shown.allowed, "called but never shown");
        let by_admin = decide(&tool, &Grant { trusted: true, admin: true, ..grant.clone() });
        let by_stranger = decide(&tool, &Grant { trusted: false, ..grant.clone() });
        prop_assert_eq!(by_stranger, no(Reason::NotTrusted), "an untrusted sender reaches a tool");
        prop_assert_eq!(&by_admin, &shown, "an admin's turn is refused nothing that is shown");
        if on_floor(&tool, &grant) {
            prop_assert_eq!(&shown.reason, &Reason::Floor(grant.agent));
        }
        if !verdict.allowed {
            return Ok(());
        }
        prop_assert!(tool.provenance == Provenance::Anyone || grant.admin);
        prop_assert!(tool.source.as_str() != "internal");
        prop_assert!(floor || !grant.allowed_tools.is_empty(), "deny by default");
        if grant.agent == AgentKind::Scout {
            prop_assert!(floor || tool.effect == Effect::ReadOnly, "a scout writes");
            prop_assert!(floor || tool.partition != Partition::Delegate, "a scout delegates");
        }
        if let (Some(parent), false) = (&grant.parent, floor) {
            prop_assert!(parent.contains(&tool.name), "a child has what its parent lacks");
        }
        let explicit = lists(&grant).any(|pattern| tool.names().any(|name| name == pattern));
        if tool.default_disabled {
            prop_assert!(floor || explicit, "a wildcard granted what is disabled by default");
        }
        let spelled = |start: &str| lists(&grant).any(|pattern| pattern.starts_with(start));
        match tool.source {
            Source::Plugin => {
                prop_assert!(spelled("eng."));
                prop_assert_eq!(grant.plugins.get("eng.deploy"), Some(&PluginFacts::all()));
            }
            Source::Mcp => prop_assert!(spelled("mcp__")),
            _ => {}
        }
    }

    #[test]
    fn a_child_never_exceeds_its_parent(
        tools in universe(),
        chain in prop::collection::vec(grant(), 1..5),
    ) {
        let mut above: Option<ActiveSet> = None;
        for grant in chain {
            let grant = Grant { parent: above.clone(), ..grant };
            let active: ActiveSet =
                tools.iter().filter(|tool| shown(tool, &grant).allowed).map(|tool| &*tool.name).collect();
            for tool in tools.iter().filter(|tool| active.contains(&tool.name)) {
                let inherited = above.as_ref().is_none_or(|above| above.contains(&tool.name));
                prop_assert!(inherited || without_lists(tool, &grant), "{} came from nowhere", tool.name);
            }
            above = Some(active);
        }
    }

    #[test]
    fn a_star_alone_never_grants_what_has_to_be_named(
        tool in tool(),
        grant in grant(),
        star in prop::sample::select(vec!["*", "**", "?*", "*?", "***"]),
        boxes in any::<bool>(),
    ) {
        let star = vec![star.to_owned()];
        let toolboxes = boxes.then(|| vec![Toolbox { name: "all".into(), tools: star.clone() }]);
        let grant = Grant { allowed_tools: star.clone(), toolboxes, direct: star, ..grant };
        let named_only = tool.default_disabled || matches!(tool.source, Source::Plugin | Source::Mcp);
        prop_assert!(!(named_only && shown(&tool, &grant).allowed) || without_lists(&tool, &grant));
    }

    #[test]
    fn a_filter_never_adds_a_tool(tool in tool(), grant in grant()) {
        // What the team, the parent or the kind of agent leaves out is out, whatever the agent's own lists say.
        let free = Grant { parent: None, toolboxes: None, ..grant.clone() };
        prop_assert!(!shown(&tool, &grant).allowed || shown(&tool, &free).allowed);
        let nothing = Grant { allowed_tools: Vec::new(), ..grant.clone() };
        prop_assert!(!shown(&tool, &nothing).allowed || without_lists(&tool, &grant), "deny by default");
        if grant.agent == AgentKind::Scout && shown(&tool, &grant).allowed && !without_lists(&tool, &grant) {
            let main = Grant { agent: AgentKind::Sub, ..grant.clone() };
            prop_assert!(tool.availability == Availability::Main || shown(&tool, &main).allowed);
        }
    }

    #[test]
    fn a_subagent_s_file_only_takes_away_but_for_its_skills(tool in tool(), grant in grant(), remit in remit()) {
        let (free, bound) = (Grant { remit: None, ..grant.clone() }, Grant { remit: Some(remit.clone()), ..grant });
        let (before, after) = (shown(&tool, &free).allowed, shown(&tool, &bound));
        prop_assert!(!after.allowed || before || after.reason == Reason::OwnSkills);
        if tool.source == Source::Native && tool.name == "delegate_to" {
            prop_assert!(!after.allowed, "a subagent asks another session");
        }
        if let (Some(at_most), true) = (&remit.tools, after.allowed && after.reason != Reason::OwnSkills) {
            let named = at_most.iter().any(|pattern| tool.names().any(|name| glob::matches(pattern, name)));
            let must = tool.source == Source::Native && ["think", "report_to_parent"].contains(&&*tool.name);
            prop_assert!(named || must, "its file does not name it");
        }
    }

    #[test]
    fn a_subagent_is_had_for_its_name_or_for_that_of_all(
        grant in grant(),
        name in prop::sample::select(vec!["deploy", "react-dev", "task_todos", "write_file"]),
    ) {
        let run = Spec { partition: Partition::Delegate, ..testing::writes("run_subagent") };
        let verdict = shown_subagent(&run, name, &grant);
        let all = shown(&run, &grant).allowed;
        let of = |patterns: &[String], of: &str| patterns.iter().any(|pattern| glob::matches(pattern, of));
        let listed = |patterns: &[String]| of(patterns, "run_subagent") || of(patterns, name);
        prop_assert!(!all || verdict.allowed, "whoever has all has this one");
        prop_assert!(!verdict.allowed || (listed(&grant.allowed_tools) && grant.remit.is_none()));
        let inherited = grant.parent.as_ref().is_none_or(|parent| parent.contains("run_subagent"));
        prop_assert!(!verdict.allowed || inherited);
        let now = decide_subagent(&run, name, &grant);
        prop_assert_eq!(now.allowed, verdict.allowed && grant.trusted);
    }

    #[test]
    fn a_reason_names_what_is_really_there(tool in tool(), grant in grant()) {
        let verdict = shown(&tool, &grant);
        let has = |patterns: &[String], pattern: &String| {
            patterns.contains(pattern) && tool.names().any(|name| glob::matches(pattern, name))
        };
        match &verdict.reason {
            Reason::AllowedTools { pattern } => {
                prop_assert!(has(&grant.allowed_tools, pattern) && grant.toolboxes.is_none());
            }
            Reason::Toolbox { toolbox, pattern, allowed_by } => {
                let boxes = grant.toolboxes.as_deref().unwrap_or(&[]);
                prop_assert!(boxes.iter().any(|each| each.name == *toolbox && has(&each.tools, pattern)));
                prop_assert!(has(&grant.allowed_tools, allowed_by));
            }
            Reason::Direct { pattern, allowed_by } => {
                prop_assert!(has(&grant.direct, pattern) && has(&grant.allowed_tools, allowed_by));
            }
            Reason::TooVague { pattern, .. } => {
                prop_assert!(!verdict.allowed && lists(&grant).any(|other| other == pattern));
            }
            _ => {}
        }
    }

    #[test]
    fn one_more_pattern_never_takes_a_tool_away(tool in tool(), grant in grant(), pattern in patterns()) {
        let before = decide(&tool, &grant).allowed;
        let mut more = grant.clone();
        more.allowed_tools.extend(pattern.clone());
        prop_assert!(!before || decide(&tool, &more).allowed);
        let mut more = grant.clone();
        more.direct.extend(pattern.clone());
        prop_assert!(!before || decide(&tool, &more).allowed);
        let mut more = grant.clone();
        if let Some(boxes) = &mut more.toolboxes {
            boxes.push(Toolbox { name: "another".into(), tools: pattern });
        }
        prop_assert!(!before || decide(&tool, &more).allowed);
    }
}

#[test]
fn every_rule_says_what_it_is() {
    let main = Grant::main(true);
    let deploy = testing::writes("deploy");
    let plugin = Spec { name: Cow::Borrowed("eng.deploy"), source: Source::Plugin, ..deploy.clone() };
    let remote = Spec { name: Cow::Borrowed("mcp__git__push"), source: Source::Mcp, ..deploy.clone() };
    let rare = Spec { default_disabled: true, ..deploy.clone() };
    let delegates = Spec { partition: Partition::Delegate, effect: Effect::ReadOnly, ..deploy.clone() };
    let only = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let ops = Toolbox { name: "ops".into(), tools: only(&["dep*"]) };
    let scout = Grant { agent: AgentKind::Scout, ..main.clone() };
    let subagent = |tools: Option<&[&str]>, skills: &[&str]| {
        let remit = Remit { tools: tools.map(only), skills: only(skills) };
        Grant { agent: AgentKind::Sub, remit: Some(remit), ..main.clone() }
    };
    let facts = |facts| BTreeMap::from([("eng.deploy".to_owned(), facts)]);
    let engineers = Grant { allowed_tools: only(&["eng.*"]), ..main.clone() };
    let cases = [
        (&testing::spec("read_file"), Grant { allowed_tools: vec![], ..main.clone() }, true, "every main agent has it"),
        (&deploy, main.clone(), true, "`*` in allowed_tools grants it"),
        (&deploy, Grant { allowed_tools: only(&["rea*"]), ..main.clone() }, false, "nothing in allowed_tools names it"),
        (
            &deploy,
            Grant { toolboxes: Some(vec![ops]), ..main.clone() },
            true,
            "`dep*` of the toolbox `ops` grants it, and allowed_tools has `*`",
        ),
        (
            &deploy,
            Grant { toolboxes: Some(vec![]), direct: only(&["deploy"]), ..main.clone() },
            true,
            "the direct grant `deploy` has it, and allowed_tools has `*`",
        ),
        (
            &deploy,
            Grant { toolboxes: Some(vec![]), ..main.clone() },
            false,
            "none of the agent's toolboxes or direct grants names it",
        ),
        (
            &deploy,
            Grant { parent: Some(ActiveSet::default()), ..main.clone() },
            false,
            "the parent may not use it either",
        ),
        (&deploy, scout.clone(), false, "a scout only reads, and it does more"),
        (&delegates, scout, false, "a scout gives no work to others"),
        (
            &plugin,
            main.clone(),
            false,
            "`*` in an allow-list matches it and does not grant it: a plugin tool is granted by a pattern that spells \
             out `team.`",
        ),
        (
            &plugin,
            Grant { allowed_tools: only(&["eng.*"]), plugins: facts(PluginFacts::all()), ..main.clone() },
            true,
            "`eng.*` in allowed_tools grants it",
        ),
        (&plugin, engineers.clone(), false, "no skill that is being followed declares this plugin tool"),
        (
            &plugin,
            Grant { plugins: facts(PluginFacts { active: false, ..PluginFacts::all() }), ..engineers.clone() },
            false,
            "this plugin tool is not active",
        ),
        (
            &plugin,
            Grant { plugins: facts(PluginFacts { verified: false, ..PluginFacts::all() }), ..engineers.clone() },
            false,
            "this plugin tool has not passed its verification",
        ),
        (
            &plugin,
            Grant { plugins: facts(PluginFacts { unchanged: false, ..PluginFacts::all() }), ..engineers },
            false,
            "this plugin tool's source is not what was verified",
        ),
        (
            &deploy,
            Grant { trusted: false, ..main.clone() },
            false,
            "whoever caused the turn is not trusted, and reaches no tool",
        ),
        (
            &remote,
            Grant { allowed_tools: only(&["m*"]), ..main.clone() },
            false,
            "`m*` in an allow-list matches it and does not grant it: a tool of another server is granted by a pattern \
             that spells out `mcp__`",
        ),
        (
            &rare,
            Grant { allowed_tools: only(&["deplo?"]), ..main.clone() },
            false,
            "`deplo?` in an allow-list matches it and does not grant it: it is disabled by default, and only its own \
             name grants it",
        ),
        (
            &rare,
            Grant { allowed_tools: only(&["*", "deploy"]), ..main.clone() },
            true,
            "`deploy` in allowed_tools grants it",
        ),
        (
            &Spec { availability: Availability::Sub, ..deploy.clone() },
            main.clone(),
            false,
            "it is for sub agents, and this is a main agent",
        ),
        (
            &Spec { provenance: Provenance::Admin, ..deploy.clone() },
            Grant::main(false),
            false,
            "only a turn that an admin caused may use it",
        ),
        (
            &testing::spec("activate_skill"),
            subagent(None, &["ship"]),
            true,
            "a subagent takes up the skills that its file names",
        ),
        (&testing::spec("activate_skill"), subagent(None, &[]), false, "the subagent's file names no skills"),
        (&testing::spec("run_skill_script"), subagent(None, &[]), false, "the subagent's file names no skills"),
        (
            &testing::spec("write_file"),
            subagent(Some(&["read_*"]), &[]),
            false,
            "the section `Tools` of the subagent's file does not name it",
        ),
        (&testing::spec("read_file"), subagent(Some(&["read_*"]), &[]), true, "every sub agent has it"),
        (&testing::spec("report_to_parent"), subagent(Some(&[]), &[]), true, "every sub agent has it"),
        (
            &testing::spec("query_team"),
            subagent(None, &[]),
            false,
            "a subagent gives no work to teams and asks no other subagent: it does its task itself",
        ),
        (
            &Spec { source: Source::Internal { id: Cow::Borrowed("orxa:score@1.0.0") }, ..deploy.clone() },
            main,
            false,
            "it belongs to the hive's own machinery",
        ),
    ];
    for (tool, grant, allowed, reason) in cases {
        let verdict = decide(tool, &grant);
        assert_eq!((verdict.allowed, verdict.reason.to_string().as_str()), (allowed, reason), "{}", tool.name);
    }
}

#[test]
fn what_another_server_says_of_its_tool_counts_where_it_is_believed() {
    let class = |declares_read_only, server_trusted| McpFacts { declares_read_only, server_trusted }.class();
    for (declares, trusted) in [(false, false), (false, true), (true, false)] {
        assert_eq!(class(declares, trusted), (Partition::Write, Effect::Once));
    }
    assert_eq!(class(true, true), (Partition::Read, Effect::ReadOnly));
}
