//! What stands in a prompt, in which order, and how much of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use base::{Clock, Scrub, TeamName};
use llm::{Request, ToolDef, tokens};
use org::handbook::{BOOTSTRAP, Handbook};
use org::markdown::{Folder, Whose};
use org::rules::{Cascade, OWNER_TOKENS_MAX, Place, Role};
use tempfile::TempDir;

use super::*;

/// The most tokens of a role's fixed text with the bootstrap task: a third of the 6,000 that a fixed prefix may have, so
/// that the owner's rules have room in it.
const FIXED_TOKENS_MAX: u64 = 2_000;
/// The most tokens that one tool's definition takes on the average, and the most that a single one does.
const TOOL_TOKENS_MEAN_MAX: u64 = 250;
const TOOL_TOKENS_MAX: u64 = 800;

/// A hive's folders.
struct Hive {
    home: TempDir,
}

impl Hive {
    fn new(files: &[(&str, &str)]) -> Hive {
        let home = TempDir::new().unwrap();
        for (path, text) in files {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Hive { home }
    }

    fn folder(&self, team: &str) -> Folder {
        let path = self.home.path().join("teams").join(team);
        std::fs::create_dir_all(&path).unwrap();
        Folder::open(&path, Whose::Team).unwrap()
    }

    fn book(&self, team: &str) -> Handbook {
        Handbook::read(&self.folder(team), &team.parse().unwrap(), |name| name == "web_fetch")
    }

    fn fixed(&self, role: Role) -> Fixed {
        Fixed::of(role, &owner_rules(self.home.path()).unwrap())
    }

    /// The rules of a team below `main`.
    fn cascade(&self, book: &Handbook, role: Role) -> Cascade {
        let main = self.book("main");
        let owner = owner_rules(self.home.path()).unwrap();
        Cascade::of(&Place {
            team: &book.team,
            role,
            owner: &owner,
            above: &[&main.org_rules],
            org: &book.org_rules,
            own: &book.team_rules,
            unread: &[],
        })
    }
}

fn station(team: &TeamName) -> Station<'_> {
    Station { team, description: "Brings versions out.", scope: &[], children: &[], workspace: Path::new("/hive/ops") }
}

const SHIP: &str = "# Skill: ship\n\n## Purpose\nSends it.\n\n## Required Tools\n- send\n- web_fetch\n\n## Steps\n\
    1. Call send.\n2. Look with web_fetch.\n";
const DEV: &str = "# Agent: dev\n\n## Role\nBuilds.\n\n## Boundaries\n- No servers.\n\n## Communication Style\nBrief.\n\n\
    ## Skills\n- ship — sends\n- check\n";

fn ops() -> Hive {
    Hive::new(&[
        ("rules/words.md", "# Words\nPlain ones."),
        ("teams/main/org-rules/all.md", "# Money\nAsk first."),
        ("teams/main/team-rules/main.md", "# Main alone"),
        ("teams/ops/AGENT.md", "---\nname: Ada\n---\nYou are calm."),
        ("teams/ops/org-rules/own.md", "# Nights\nNo releases."),
        ("teams/ops/team-rules/team-context.md", "Looks after releases."),
        ("teams/ops/skills/ship/SKILL.md", SHIP),
        ("teams/ops/skills/ship/api.md", "API"),
        ("teams/ops/skills/ship/check.sh", ""),
        ("teams/ops/plugins/send.ts", "export {}"),
        ("teams/ops/skills/check.md", "Looks.\n\n1. Look.\n"),
        ("teams/ops/skills/report.md", "Tells.\n\n1. Tell.\n"),
        ("teams/ops/subagents/dev.md", DEV),
    ])
}

#[test]
fn a_team_s_prompt_has_its_parts_in_order() {
    let hive = ops();
    let book = hive.book("ops");
    assert_eq!(book.faults, []);
    let children = [("web".parse().unwrap(), "Pages.".to_owned()), ("docs".parse().unwrap(), String::new())];
    let cascade = hive.cascade(&book, Role::Team);
    let own = Own {
        station: Station { scope: &["releases".into(), "deploys".into()], children: &children, ..station(&book.team) },
        missing: &["escalate", "query_team"],
        cascade: &cascade,
        handbook: &book,
        identity: Identity::Orchestrator,
        takes_up: TakesUp::ByTool,
    };
    let now = Now { memory: "--- Memory ---\n[IDENTITY]\n  [who]: ops", summary: Some("Little."), ..Now::default() };
    let skills = taken_up(&hive.folder("ops"), &book, &["ship".to_owned(), "gone".to_owned()]);
    let parts = put_together(&hive.fixed(Role::Team), &own.text(), &skills, &now);
    assert!(parts[0].cached && !parts[1].cached && parts.len() == 2);
    assert_eq!(
        parts[1].text,
        "## Team\nThis is the team `ops`. Brings versions out.\nScope: releases, deploys.\n\n\
         ## Workspace\nYour files are in `/hive/ops`.\n\n\
         --- Tool Availability for This Team ---\n\n\
         Not available here: `escalate`, `query_team`.\n\n\
         --- Org Rules: main ---\n\n# Money\nAsk first.\n\n\
         --- Org Rules: ops ---\n\n# Nights\nNo releases.\n\n\
         --- Team Rules: ops ---\n\nLooks after releases.\n\n\
         --- Agent: Ada (ops) ---\n\nYou are calm.\n\n\
         ## Teams below this one\n- `web` — Pages.\n- `docs`\n\n\
         --- Available Skills ---\n\nTake one up with `activate_skill` before you do what it is for.\n\
         - `report` — Tells.\n\n\
         --- Skills ---\n\n--- Active Skill: ship ---\n\n# Skill: ship\n\n## Purpose\nSends it.\n\n\
         ## Required Tools\n- ops.send\n- web_fetch\n\n## Steps\n1. Call ops.send.\n2. Look with web_fetch.\n\n\
         Files beside this skill (`read_skill_file`, and `run_skill_script` for scripts):\n\
         - api.md (3 bytes)\n- check.sh (0 bytes, a script)\n\n\
         --- Active Skill: gone ---\n\nIts file is there no more: leave what it was for, and say so.\n\n\
         --- Memory ---\n[IDENTITY]\n  [who]: ops\n\n\
         ## What was said before, in fewer words\nLittle."
    );
    let fixed = &parts[0].text;
    let order = ["--- System Rules ---", "# Your role", "--- Organization Rules ---", "# Words", "## Tools", "## HTTP"];
    let places: Vec<_> = order.iter().map(|part| fixed.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!fixed.contains("main agent") && !parts[1].text.contains("Main alone"));
    assert_eq!(taken_up(&hive.folder("ops"), &book, &[]), "");
}

/// What a session of a team is told of itself.
fn text(hive: &Hive, book: &Handbook, identity: Identity<'_>, takes_up: TakesUp) -> String {
    let role = if matches!(identity, Identity::Orchestrator) { Role::Team } else { Role::Subagent };
    let (station, cascade) = (station(&book.team), hive.cascade(book, role));
    Own { station, missing: &[], cascade: &cascade, handbook: book, identity, takes_up }.text()
}

#[test]
fn a_subagent_s_prompt_is_its_text_and_its_skills() {
    let hive = ops();
    let book = hive.book("ops");
    let dev = book.subagent("dev").unwrap();
    let text = |identity| text(&hive, &book, identity, TakesUp::ByTool);
    let head = format!("--- Active Subagent: dev ---\n\n{}\n\n", DEV.trim());
    let several = text(Identity::Subagent(dev));
    let (_, who) = several.split_once(&head).unwrap();
    let listed = "--- Available Skills ---\n\nTake one up with `activate_skill` before you do what it is for.\n\
        - `ship` — sends\n- `check` — Looks.";
    assert_eq!(who, listed, "the list says what the subagent says of a skill, else what the skill does");
    assert!(!several.contains("You are calm."), "the persona is the orchestrator's");
    // The only one stands under `--- Skills ---` from the first request on.
    let one = org::subagents::Subagent { skills: dev.skills[..1].to_vec(), ..dev.clone() };
    let none = org::subagents::Subagent { skills: Vec::new(), ..dev.clone() };
    for subagent in [&one, &none] {
        assert!(text(Identity::Subagent(subagent)).ends_with(DEV.trim()));
    }
    let scout = text(Identity::Scout);
    assert!(scout.ends_with("--- Team Rules: ops ---\n\nLooks after releases."), "{scout}");
}

#[test]
fn an_orchestrator_is_told_the_skills_that_no_subagent_follows() {
    let skills = [("teams/ops/skills/ship.md", SHIP), ("teams/ops/skills/check/SKILL.md", "Looks.\n\n1. Look.")];
    let told = |more: &[(&str, &str)], takes_up| {
        let hive = Hive::new(&[&skills[..], more].concat());
        let whole = text(&hive, &hive.book("ops"), Identity::Orchestrator, takes_up);
        whole.split_once("--- Available Skills ---\n\n").map(|(_, told)| told.to_owned())
    };
    let by_tool = "Take one up with `activate_skill` before you do what it is for.";
    let both = format!("{by_tool}\n- `check` — Looks.\n- `ship` — Sends it.");
    assert_eq!(told(&[], TakesUp::ByTool), Some(both));
    let by_file = "Read the file of one before you do what it is for.\n\
        - `skills/check/SKILL.md` — Looks.\n- `skills/ship.md` — Sends it.";
    assert_eq!(told(&[], TakesUp::ByFile).as_deref(), Some(by_file));
    let dev = "# Agent: dev\n\n## Role\nBuilds.\n\n## Skills\n- ship\n";
    let dev = ("teams/ops/subagents/dev.md", dev);
    assert_eq!(told(&[dev], TakesUp::ByTool), Some(format!("{by_tool}\n- `check` — Looks.")));
    assert_eq!(told(&[("teams/ops/subagents/dev.md", DEV)], TakesUp::ByTool), None, "both are its subagent's");
    let chosen = ("teams/ops/AGENT.md", "---\nskills: [ship]\n---\nCalm.");
    assert_eq!(told(&[dev, chosen], TakesUp::ByTool), Some(format!("{by_tool}\n- `ship` — Sends it.")));
}

#[test]
fn the_fixed_part_is_the_same_bytes_for_every_team() {
    let hive = ops();
    let fixed = |team: &str, role| {
        let cascade = hive.cascade(&hive.book(team), role);
        assert!(hive.fixed(role).text().starts_with(&cascade.fixed_text()));
        hive.fixed(role).system(String::new()).remove(0).text
    };
    for role in Role::ALL {
        assert_eq!(fixed("ops", role), fixed("docs", role));
    }
    assert_ne!(fixed("ops", Role::Team), fixed("ops", Role::Subagent));
}

#[test]
fn a_hive_does_not_start_without_a_rule_of_its_owner() {
    let hive = Hive::new(&[("rules/a.md", "A."), ("rules/x.md/y", "only odd")]);
    assert!(hive.fixed(Role::Main).text().contains("--- Organization Rules ---\n\nA.\n\n## Tools"));
    std::fs::write(hive.home.path().join("rules/b.md"), b"\xff").unwrap();
    std::fs::write(hive.home.path().join("rules/c.md"), "long ".repeat(10_000)).unwrap();
    let error = owner_rules(hive.home.path()).unwrap_err().to_string();
    let lines: Vec<_> = error.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{error}");
    assert_eq!(lines[0], "  rules/b.md:1: it is not UTF-8 from here on: save it as UTF-8");
    assert!(lines[1].starts_with("  rules/c.md: the owner's rules are about "), "{error}");
}

/// The most tokens of a role's whole fixed text with the bootstrap task, whatever the owner writes.
const WHOLE_TOKENS_MAX: u64 = 6_000;

#[test]
fn the_fixed_prefix_is_short_whatever_the_owner_writes() {
    const { assert!(FIXED_TOKENS_MAX + OWNER_TOKENS_MAX <= WHOLE_TOKENS_MAX) };
    let rule = "word ".repeat(2_800);
    let hive = Hive::new(&[("rules/a.md", &rule)]);
    let owner = tokens::of_text(&rule);
    assert!(owner > OWNER_TOKENS_MAX * 3 / 4 && owner <= OWNER_TOKENS_MAX, "{owner}");
    for role in Role::ALL {
        let whole = tokens::of_text(hive.fixed(role).text()) + tokens::of_text(BOOTSTRAP);
        assert!(whole <= WHOLE_TOKENS_MAX, "{role:?}: {whole}");
    }
}

#[test]
fn the_fixed_prefix_is_short() {
    for role in Role::ALL {
        let fixed = tokens::of_text(Fixed::of(role, &[]).text());
        let whole = fixed + tokens::of_text(BOOTSTRAP);
        println!("{role:?}: fixed part {fixed} tokens, with the bootstrap task {whole}");
        assert!(fixed > 300 && whole <= FIXED_TOKENS_MAX, "{role:?}: {whole}");
    }
}

/// Every tool of the program, as models are shown them.
async fn definitions() -> Vec<ToolDef> {
    let home = TempDir::new().unwrap();
    let db = store::Db::open(&home.path().join("openhive.db")).await.unwrap();
    let means = crate::toolkit::Means {
        db: &db,
        clock: Clock::Wall,
        run_dir: home.path(),
        hidden: Vec::new(),
        policy: &Arc::new(org::trust::Policy::default()),
        scrub: &Scrub::new(),
        team: &crate::config::Team::default(),
        vault_key: None,
        profiles: Vec::new(),
        delegation: crate::config::Delegation::default(),
        library: org::memory::Library::embedded(),
    };
    let catalogue = crate::toolkit::build(&means).await.unwrap().executor.catalogue;
    let entry = |entry: &tools::Entry| ToolDef {
        name: entry.wire_name.clone(),
        about: entry.spec().about.trim().to_owned(),
        schema: entry.schema.clone(),
    };
    catalogue.entries().map(entry).collect()
}

#[tokio::test]
async fn the_definitions_of_tools_are_short() {
    let all = definitions().await;
    let of = |tools: Vec<ToolDef>| tokens::of_request(&Request { tools: tools.into(), ..Request::default() });
    let (count, whole) = (all.len() as u64, of(all.clone()));
    println!("{count} tools, {whole} tokens");
    assert!(count > 20 && whole <= count * TOOL_TOKENS_MEAN_MAX, "{count} tools, {whole} tokens");
    for tool in all {
        let name = tool.name.clone();
        let tokens = of(vec![tool]);
        assert!(tokens <= TOOL_TOKENS_MAX, "{name}: {tokens} tokens");
    }
}

/// Names in back-ticks that look like tools, and are fields of results.
const FIELDS: &[&str] = &["message_for_user", "requires_confirmation"];

#[tokio::test]
async fn rules_name_only_tools_that_there_are() {
    let names: BTreeSet<String> = definitions().await.into_iter().map(|tool| tool.name).collect();
    let mut named: Vec<String> = Role::ALL.into_iter().flat_map(in_rules).collect();
    // One is there only for those who have it.
    named.extend(in_bootstrap().into_iter().filter(|name| name != "register_plugin_tool"));
    let like_a_tool = |name: &&String| name.contains('_') && !FIELDS.contains(&name.as_str());
    let tools: Vec<_> = named.iter().filter(like_a_tool).collect();
    assert!(tools.len() > 10, "only {tools:?} were looked at");
    for name in tools {
        assert!(names.contains(name), "`{name}` is no tool");
    }
    assert!(in_rules(Role::Team).iter().any(|name| name == "escalate"), "also where it is one word");
}
