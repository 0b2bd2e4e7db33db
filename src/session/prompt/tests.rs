//! What stands in a prompt, in which order, and how much of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use base::{Clock, Scrub, TeamName};
use llm::{Request, ToolDef, tokens};
use org::handbook::{BOOTSTRAP, Handbook};
use org::markdown::{Folder, Whose};
use org::rules::{Cascade, Place, Role, system};
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

    fn book(&self, team: &str) -> Handbook {
        let path = self.home.path().join("teams").join(team);
        std::fs::create_dir_all(&path).unwrap();
        Handbook::read(&Folder::open(&path, Whose::Team).unwrap(), &team.parse().unwrap(), |_| false)
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
        ("teams/ops/skills/ship.md", SHIP),
        ("teams/ops/skills/check.md", "# Skill: check\nLooks.\n"),
        ("teams/ops/subagents/dev.md", DEV),
    ])
}

#[test]
fn a_team_s_prompt_has_its_parts_in_order() {
    let hive = ops();
    let book = hive.book("ops");
    assert_eq!(book.faults, []);
    let children = [("web".parse().unwrap(), "Pages.".to_owned()), ("docs".parse().unwrap(), String::new())];
    let plugins = [("ops.send".to_owned(), "Sends a version.".to_owned())];
    let cascade = hive.cascade(&book, Role::Team);
    let own = Own {
        station: Station { scope: &["releases".into(), "deploys".into()], children: &children, ..station(&book.team) },
        tools: OwnTools { plugins: &plugins, missing: &["run_shell", "web_fetch"] },
        cascade: &cascade,
        handbook: &book,
        identity: Identity::Orchestrator { skill: book.skill("ship") },
    };
    let now = Now { memory: "--- Memory ---\n[IDENTITY]\n  [who]: ops", summary: Some("Little."), ..Now::default() };
    let parts = put_together(&hive.fixed(Role::Team), &own, &now);
    assert!(parts[0].cached && !parts[1].cached && parts.len() == 2);
    assert_eq!(
        parts[1].text,
        "## Team\nThis is the team `ops`. Brings versions out.\nScope: releases, deploys.\n\n\
         ## Workspace\nYour files are in `/hive/ops`.\n\n\
         --- Tool Availability for This Team ---\n\n\
         This team's own, to be used before general ones:\n- `ops.send` — Sends a version.\n\n\
         Not available here: `run_shell`, `web_fetch`.\n\n\
         --- Org Rules: main ---\n\n# Money\nAsk first.\n\n\
         --- Org Rules: ops ---\n\n# Nights\nNo releases.\n\n\
         --- Team Rules: ops ---\n\nLooks after releases.\n\n\
         --- Agent: ops ---\n\nYou are calm.\n\n\
         ## Teams below this one\n- `web` — Pages.\n- `docs`\n\n\
         --- Skills ---\n\n# Skill: ship\n\n## Purpose\nSends it.\n\n## Required Tools\n- ops.send\n- web_fetch\n\n\
         ## Steps\n1. Call ops.send.\n2. Look with web_fetch.\n\n\
         --- Memory ---\n[IDENTITY]\n  [who]: ops\n\n\
         ## What was said before, in fewer words\nLittle."
    );
    let fixed = &parts[0].text;
    let order = ["--- System Rules ---", "# Your role", "--- Organization Rules ---", "# Words", "## Tools", "## HTTP"];
    let places: Vec<_> = order.iter().map(|part| fixed.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!fixed.contains("main agent") && !parts[1].text.contains("Main alone"));
}

#[test]
fn a_subagent_s_prompt_is_its_text_and_its_skills() {
    let hive = ops();
    let book = hive.book("ops");
    let (cascade, dev) = (hive.cascade(&book, Role::Subagent), book.subagent("dev").unwrap());
    let text = |subagent, skill| {
        let identity = Identity::Subagent { subagent, skill };
        Own { station: station(&book.team), tools: OwnTools::default(), cascade: &cascade, handbook: &book, identity }
            .text()
    };
    let head = format!("--- Active Subagent: dev ---\n\n{}\n\n", DEV.trim());
    let several = text(dev, None);
    let (_, who) = several.split_once(&head).unwrap();
    let listed =
        "--- Available Skills ---\n\n`activate_skill` gives a skill's text.\n- `ship` — sends\n- `check` — Looks.";
    assert_eq!(who, listed, "the list says what the subagent says of a skill, else what the skill does");
    assert!(!several.contains("You are calm."), "the persona is the orchestrator's");
    let named = text(dev, book.skill("check"));
    assert!(named.ends_with(&format!("{head}--- Active Skill: check ---\n\n# Skill: check\nLooks.")), "{named}");
    let one = org::subagents::Subagent { skills: dev.skills[..1].to_vec(), ..dev.clone() };
    assert!(text(&one, None).ends_with(&format!("{head}--- Active Skill: ship ---\n\n{}", SHIP.trim())));
    let none = org::subagents::Subagent { skills: Vec::new(), ..dev.clone() };
    assert!(text(&none, None).ends_with(DEV.trim()));
    let (station, tools) = (station(&book.team), OwnTools::default());
    let scout = Own { station, tools, cascade: &cascade, handbook: &book, identity: Identity::Scout }.text();
    assert!(scout.ends_with("--- Team Rules: ops ---\n\nLooks after releases."), "{scout}");
}

#[test]
fn a_team_without_subagents_is_shown_its_skills() {
    let hive = Hive::new(&[("teams/ops/skills/ship.md", SHIP)]);
    let book = hive.book("ops");
    let cascade = hive.cascade(&book, Role::Team);
    let identity = Identity::Orchestrator { skill: None };
    let (station, tools) = (station(&book.team), OwnTools::default());
    let text = Own { station, tools, cascade: &cascade, handbook: &book, identity }.text();
    assert!(text.ends_with("`activate_skill` gives a skill's text.\n- `ship` — Sends it."), "{text}");
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
    assert_eq!(Fixed::read(hive.home.path()).unwrap(), hive.fixed(Role::Main));
}

#[test]
fn a_hive_does_not_start_without_a_rule_of_its_owner() {
    let hive = Hive::new(&[("rules/a.md", "A."), ("rules/x.md/y", "only odd")]);
    assert!(Fixed::read(hive.home.path()).unwrap().text().contains("--- Organization Rules ---\n\nA.\n\n## Tools"));
    std::fs::write(hive.home.path().join("rules/b.md"), b"\xff").unwrap();
    std::fs::write(hive.home.path().join("rules/c.md"), "long ".repeat(10_000)).unwrap();
    let error = Fixed::read(hive.home.path()).unwrap_err().to_string();
    let lines: Vec<_> = error.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{error}");
    assert_eq!(lines[0], "  rules/b.md: it is not UTF-8 from line 1 on: save it as UTF-8");
    assert!(lines[1].starts_with("  rules/c.md: the owner's rules are about "), "{error}");
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
        library: org::memory::Library::embedded(),
    };
    let catalogue = crate::toolkit::build(&means).await.unwrap().executor.catalogue;
    let entry = |entry: &tools::Entry| ToolDef {
        name: entry.wire_name.clone(),
        about: entry.spec().about.trim().to_owned(),
        schema: entry.input.clone(),
    };
    catalogue.entries().map(entry).collect()
}

#[tokio::test]
async fn the_definitions_of_tools_are_short() {
    let all = definitions().await;
    let of = |tools: Vec<ToolDef>| tokens::of_request(&Request { tools, ..Request::default() });
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
    let mut texts: Vec<String> = Role::ALL.into_iter().flat_map(system).map(|rule| rule.text).collect();
    // The one that it names only for those who have it.
    texts.push(BOOTSTRAP.replace("if `register_plugin_tool` is among your tools", ""));
    let mut seen = 0;
    for text in &texts {
        for word in text.split('`').skip(1).step_by(2) {
            let like_a_tool = word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if like_a_tool && !FIELDS.contains(&word) {
                seen += 1;
                assert!(names.contains(word), "`{word}` is no tool");
            }
        }
    }
    assert!(seen > 10, "only {seen} names were looked at");
}
