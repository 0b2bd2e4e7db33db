//! Which rules a session reads, in which order, and what is said of those that do not go together.

use tempfile::TempDir;

use super::*;

/// The files of a hive: `rules/…` of the owner, `teams/<team>/…`.
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

    fn team(&self, name: &str, faults: &mut Vec<Fault>) -> (TeamName, Vec<Rule>, Vec<Rule>) {
        let path = self.home.path().join("teams").join(name);
        std::fs::create_dir_all(&path).unwrap();
        let (folder, team) = (Folder::open(&path, Whose::Team).unwrap(), name.parse::<TeamName>().unwrap());
        let rules = (org_rules(&folder, &team, faults), team_rules(&folder, &team, faults));
        (team, rules.0, rules.1)
    }

    /// The cascade of the last team of a line that begins with the root.
    fn cascade(&self, line: &[&str]) -> (Cascade, Vec<Fault>) {
        let mut faults = Vec::new();
        let owner = owner(self.home.path(), &mut faults);
        let (mut teams, mut unread) = (Vec::new(), Vec::new());
        for name in line {
            let mut own = Vec::new();
            teams.push(self.team(name, &mut own));
            let below = Some(name) != line.last();
            unread.extend(super::unread(&name.parse().unwrap(), &own, below));
            faults.extend(own);
        }
        let ((team, org, own), above) = teams.split_last().unwrap();
        let above: Vec<&[Rule]> = above.iter().map(|(_, org, _)| org.as_slice()).collect();
        let role = if team.is_main() { Role::Main } else { Role::Team };
        (Cascade::of(&Place { team, role, owner: &owner, above: &above, org, own, unread: &unread }), faults)
    }
}

#[test]
fn a_session_reads_the_general_rules_first() {
    let hive = Hive::new(&[
        ("rules/b.md", "Owner B."),
        ("rules/a.md", "---\nby: owner\n---\nOwner A."),
        ("rules/empty.md", "\n"),
        ("rules/deep/c.md", "Not read."),
        ("teams/main/org-rules/m.md", "Main for all."),
        ("teams/main/team-rules/m.md", "Main alone."),
        ("teams/eng/org-rules/e.md", "Eng for all."),
        ("teams/eng/team-rules/e.md", "Eng alone."),
        ("teams/web/org-rules/w.md", "Web for all."),
        ("teams/web/team-rules/z.md", "Web alone."),
        ("teams/web/team-rules/team-context.md", "What web is for."),
        ("teams/docs/org-rules/d.md", "Docs for all."),
    ]);
    let (cascade, faults) = hive.cascade(&["main", "eng", "web"]);
    assert_eq!((faults, &cascade.faults), (vec![], &vec![]));
    let levels: Vec<_> = cascade.varying.iter().map(|rule| (cascade.level(rule), rule.file.as_str())).collect();
    assert_eq!(
        levels,
        [
            (Level::Organisation, "teams/main/org-rules/m.md"),
            (Level::Ancestor, "teams/eng/org-rules/e.md"),
            (Level::Team, "teams/web/org-rules/w.md"),
            (Level::Team, "teams/web/team-rules/team-context.md"),
            (Level::Team, "teams/web/team-rules/z.md"),
        ]
    );
    assert_eq!(
        cascade.varying_text(),
        "--- Org Rules: main ---\n\nMain for all.\n\n--- Org Rules: eng ---\n\nEng for all.\n\n\
         --- Org Rules: web ---\n\nWeb for all.\n\n--- Team Rules: web ---\n\nWhat web is for.\n\nWeb alone."
    );
    let fixed = cascade.fixed_text();
    assert!(fixed.starts_with("--- System Rules ---\n\n# How you work\n"));
    assert!(fixed.ends_with("--- Organization Rules ---\n\nOwner A.\n\nOwner B."), "{fixed}");
    let (main, _) = hive.cascade(&["main"]);
    assert_eq!(
        main.varying_text(),
        "--- Org Rules: main ---\n\nMain for all.\n\n--- Team Rules: main ---\n\nMain alone."
    );
    let (bare, _) = Hive::new(&[]).cascade(&["main", "web"]);
    assert_eq!((bare.varying_text(), bare.fixed_text().contains("Organization")), (String::new(), false));
}

#[test]
fn a_child_never_reads_what_the_main_agent_is_told() {
    let hive = Hive::new(&[("teams/main/team-rules/m.md", "Main alone."), ("rules/a.md", "For all.")]);
    let fixed = |line: &[&str]| hive.cascade(line).0.fixed_text();
    let (main, web, deep) = (fixed(&["main"]), fixed(&["main", "web"]), fixed(&["main", "eng", "docs"]));
    assert_eq!(web, deep, "the same bytes for every team");
    assert!(main.contains("You are the main agent") && !web.contains("main agent"));
    assert!(web.contains("You are the orchestrator") && !main.contains("You are the orchestrator"));
    assert!(!web.contains("Main alone.") && !hive.cascade(&["main", "web"]).0.varying_text().contains("Main alone."));
    let role = system(Role::Main)[1].text.clone();
    let lines = role.lines().filter(|line| line.len() > 20 && !line.starts_with('#'));
    assert!(lines.clone().count() > 10 && lines.clone().all(|line| !web.contains(line)));
}

/// The conflicts of the last team of a line.
fn said(files: &[(&str, &str)], line: &[&str]) -> Vec<String> {
    let (cascade, _) = Hive::new(files).cascade(line);
    conflicts(&cascade).into_iter().map(|conflict| Fault::from(conflict).to_string()).collect()
}

#[test]
fn two_rules_of_one_heading_are_reported_unless_one_says_that_it_holds() {
    let above = ("rules/a.md", "Text.\n# Escalation\nOne.");
    let rule = |text: &'static str| [above, ("teams/web/team-rules/b.md", text)];
    let conflict = "teams/web/team-rules/b.md:1: the rule rules/a.md has the heading `ESCALATION` as well: write \
                    `# ESCALATION [OVERRIDE]` here if this one holds instead, or give it a heading of its own";
    assert_eq!(said(&rule("# ESCALATION\nTwo."), &["main", "web"]), [conflict]);
    for holds in [
        "# Escalation [OVERRIDE]\nTwo.",
        "# [override] Escalation\nTwo.",
        "# Escalation\n\n[OVERRIDE] Two.",
        "# Escalation\n[OVERRIDE]\nTwo.",
        "## Escalation\nTwo.",
        "# Other\n# Escalation\nTwo.",
        "Escalation\nTwo.",
        "```\n# Escalation\n```",
    ] {
        assert_eq!(said(&rule(holds), &["main", "web"]), Vec::<String>::new(), "{holds}");
    }
    for holds_not in
        ["# Escalation\nTwo. Never write [OVERRIDE].", "# Escalation\n\n```\n[OVERRIDE]\n```\n", "# Escalation\nTwo."]
    {
        assert_eq!(said(&rule(holds_not), &["main", "web"]).len(), 1, "{holds_not}");
    }
    let marked_above = [("rules/a.md", "# X [OVERRIDE]\nOne."), ("teams/web/team-rules/b.md", "# X\nTwo.")];
    assert_eq!(
        said(&marked_above, &["main", "web"]).len(),
        1,
        "the mark of the general rule says nothing of the special"
    );
}

#[test]
fn each_conflict_is_reported_once_and_for_the_team_that_can_end_it() {
    let files = [
        ("rules/a.md", "# X\nOwner."),
        ("rules/b.md", "# X\nOwner, again: one place."),
        ("teams/main/org-rules/x.md", "# X\nMain."),
        ("teams/eng/org-rules/x.md", "# X [OVERRIDE]\nEng."),
        ("teams/web/org-rules/x.md", "# X\nWeb."),
        ("teams/web/team-rules/x.md", "# Y\nWeb alone."),
        ("teams/docs/org-rules/x.md", "# X\nA sibling."),
    ];
    let of = |line: &[&str]| said(&files, line);
    let [beside, main] = &of(&["main"])[..] else { panic!("{:?}", of(&["main"])) };
    assert!(beside.starts_with("rules/b.md:1: the rule a.md beside it has the heading `X` as well: "), "{beside}");
    assert!(main.starts_with("teams/main/org-rules/x.md:1: the rule rules/b.md has"), "{main}");
    assert_eq!(of(&["main", "eng"]), Vec::<String>::new());
    let web = of(&["main", "eng", "web"]);
    assert!(web.len() == 1 && web[0].contains("the rule teams/eng/org-rules/x.md has"), "{web:?}");
}

#[test]
fn nothing_overrides_the_rules_of_the_program() {
    let role = &system(Role::Team)[1].topic.clone().unwrap().heading;
    let text = format!("# {role} [OVERRIDE]\nYou are free.");
    let said = said(&[("teams/web/team-rules/b.md", &text)], &["main", "web"]);
    let expected = format!(
        "teams/web/team-rules/b.md:1: a rule of this program has the heading `{role}` as well, and nothing overrides it: \
         give this rule a heading of its own"
    );
    assert_eq!(said, [expected]);
}

#[test]
fn rules_have_a_bound_and_the_general_ones_the_first_claim() {
    let long = |word: &str| format!("{word} ").repeat(3_000);
    let (general, special) = (long("general"), long("special"));
    let files = [
        ("teams/main/org-rules/a.md", general.as_str()),
        ("teams/web/team-rules/b.md", special.as_str()),
        ("teams/web/team-rules/c.md", "Short."),
    ];
    let (cascade, _) = Hive::new(&files).cascade(&["main", "web"]);
    let sum: u64 = cascade.varying.iter().map(|rule| rule.tokens).sum();
    assert!(sum <= RULES_TOKENS_MAX && sum > RULES_TOKENS_MAX / 2, "{sum}");
    assert_eq!(cascade.left_out, ["teams/web/team-rules/b.md"]);
    let [fault] = cascade.faults.as_slice() else { panic!("{:?}", cascade.faults) };
    let whole = tokens::of_text(general.trim()) + tokens::of_text(special.trim()) + tokens::of_text("Short.");
    assert_eq!(
        fault.to_string(),
        format!(
            "teams/web/team-rules/b.md: the rules of this team are about {whole} tokens together, and at most \
             {RULES_TOKENS_MAX} are read: this file is left out; shorten it, or others"
        )
    );
    let text = cascade.varying_text();
    assert!(text.contains("Short.") && !text.contains("special"));
    assert!(text.ends_with("Left out: teams/web/team-rules/b.md. Say so if it matters."), "{text}");
}

#[test]
fn two_rules_of_one_heading_in_one_folder_are_told_whatever_their_marks() {
    let web = |second| {
        let files = [("teams/web/team-rules/a.md", "# X\nOne."), ("teams/web/team-rules/b.md", second)];
        said(&files, &["main", "web"])
    };
    let expected = "teams/web/team-rules/b.md:1: the rule a.md beside it has the heading `X` as well: make one rule of them, \
                    or give this one a heading of its own";
    assert_eq!(web("# X\nTwo."), [expected]);
    assert_eq!(web("# X [OVERRIDE]\nTwo."), [expected]);
    assert_eq!(web("# Y\nTwo."), Vec::<String>::new());
    // The two folders of a team are two places.
    let files = [("teams/web/org-rules/a.md", "# X\nOne."), ("teams/web/team-rules/b.md", "# X [OVERRIDE]\nTwo.")];
    assert_eq!(said(&files, &["main", "web"]), Vec::<String>::new());
}

#[test]
fn whoever_should_read_a_rule_is_told_that_it_cannot_be_read() {
    let hive = Hive::new(&[("teams/main/org-rules/a.md", "M."), ("teams/web/team-rules/a.md", "T.")]);
    for file in ["main/org-rules/b.md", "main/team-rules/c.md", "web/team-rules/d.md"] {
        let path = hive.home.path().join("teams").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, b"\xff").unwrap();
    }
    // The main team's own rules are no other team's.
    for (line, files) in [
        (&["main", "web"][..], "teams/main/org-rules/b.md, teams/web/team-rules/d.md"),
        (&["main"], "teams/main/org-rules/b.md, teams/main/team-rules/c.md"),
    ] {
        let text = hive.cascade(line).0.varying_text();
        let end = format!("\n\nThere are rules that cannot be read: {files}. Say so if it matters.");
        assert!(text.starts_with("--- Org Rules: main ---\n\nM.") && text.ends_with(&end), "{text}");
    }
}

#[test]
fn the_owner_s_rules_leave_the_fixed_part_short() {
    let rule = |word: &str, times| format!("{word} ").repeat(times);
    let (fits, no_room) = (rule("fits", 1_900), rule("room", 4_000));
    let (cascade, _) = Hive::new(&[("rules/a.md", &fits), ("rules/b.md", &no_room)]).cascade(&["main", "web"]);
    assert_eq!(cascade.left_out, ["rules/b.md"]);
    assert!(tokens::of_text(&no_room) < RULES_TOKENS_MAX, "rules of teams may be as long");
    for role in super::Role::ALL {
        let owner: Vec<Rule> = cascade.fixed.iter().filter(|rule| rule.source == Source::Owner).cloned().collect();
        assert_eq!(owner.len(), 1);
        let whole = tokens::of_text(&Cascade::fixed_of(role, &owner));
        assert!(whole > OWNER_TOKENS_MAX / 4 && whole < 6_000, "{role:?}: {whole}");
    }
}

#[test]
fn a_rule_that_cannot_be_read_is_a_fault_and_the_others_hold() {
    let hive = Hive::new(&[("rules/a.md", "A."), ("rules/x.md/y", ""), ("teams/main/team-rules/a.md", "T.")]);
    std::fs::write(hive.home.path().join("rules/b.md"), b"\xff").unwrap();
    std::fs::write(hive.home.path().join("teams/main/team-rules/b.md"), b"\xff").unwrap();
    let (cascade, faults) = hive.cascade(&["main"]);
    assert!(cascade.fixed_text().ends_with("A.") && cascade.varying_text().contains("\n\nT."));
    let said: Vec<_> = faults.iter().map(Fault::to_string).collect();
    assert_eq!(
        said,
        [
            "rules/x.md: it is a folder, and only files are read: rename it, or move its files up",
            "rules/b.md:1: it is not UTF-8 from here on: save it as UTF-8",
            "team-rules/b.md:1: it is not UTF-8 from here on: save it as UTF-8",
        ]
    );
}
