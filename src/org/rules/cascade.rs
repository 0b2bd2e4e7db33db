//! Which rules a team's session reads, in which order, and how many of them.

use base::TeamName;

use crate::markdown::Fault;

use super::{Level, ORG_FOLDER, Role, Rule, Source, TEAM_FOLDER, system};

/// Most tokens of all rules of teams that one session reads. More than that is no rule that anybody keeps in mind, and it
/// is paid for with every request.
pub const RULES_TOKENS_MAX: u64 = 8_000;
/// Most tokens of the owner's rules, which every session of every team reads: with those of this program the fixed part
/// of a prompt has at most 6,000.
pub const OWNER_TOKENS_MAX: u64 = 4_000;

/// The rules of one session: values in, values out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cascade {
    /// The system's rules of the role, then the owner's: the same for every team of that role.
    pub fixed: Vec<Rule>,
    /// The teams' rules: the org-rules of the teams above, the root's first, then the team's own, then its team-rules.
    pub varying: Vec<Rule>,
    /// The files that are left out because there is no room for them.
    pub left_out: Vec<String>,
    /// The files of teams that cannot be read: what they forbid, nobody knows.
    pub unread: Vec<String>,
    /// What is too long.
    pub faults: Vec<Fault>,
    team: TeamName,
}

/// Where a session stands, and what the rules on the way to it are.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The team.
    pub team: &'a TeamName,
    /// Which of its agents reads them.
    pub role: Role,
    /// The owner's rules.
    pub owner: &'a [Rule],
    /// The org-rules of the teams above it, the root's first. None for the main team.
    pub above: &'a [&'a [Rule]],
    /// Its own org-rules.
    pub org: &'a [Rule],
    /// Its own team-rules.
    pub own: &'a [Rule],
    /// The files of rules, its own and those above, that cannot be read: see [`super::unread`].
    pub unread: &'a [String],
}

impl Cascade {
    /// The rules of a session of the team at this place. Of what is too long, the last files are left out whole: the
    /// general rules come first and have the first claim.
    pub fn of(place: &Place<'_>) -> Cascade {
        let (owner, mut faults) = of_owner(place.owner);
        let above = place.above.iter().copied().flatten();
        let of_teams = above.chain(place.org).chain(place.own);
        let (varying, more) = bounded(of_teams, "the rules of this team", RULES_TOKENS_MAX);
        faults.extend(more);
        let left_out = faults.iter().map(|fault| fault.file.clone()).collect();
        let fixed = system(place.role).into_iter().chain(owner).collect();
        Cascade { fixed, varying, left_out, unread: place.unread.to_vec(), faults, team: place.team.clone() }
    }

    /// The text of the fixed rules of a role, which does not depend on the team.
    pub fn fixed_of(role: Role, owner: &[Rule]) -> String {
        let team = TeamName::main();
        Cascade::of(&Place { team: &team, role, owner, above: &[], org: &[], own: &[], unread: &[] }).fixed_text()
    }

    /// The owner's rules for which there is no room.
    pub fn too_long(owner: &[Rule]) -> Vec<Fault> {
        of_owner(owner).1
    }

    /// The team whose cascade it is.
    pub fn team(&self) -> &TeamName {
        &self.team
    }

    /// The level of a rule for this team.
    pub fn level(&self, rule: &Rule) -> Level {
        match &rule.source {
            Source::System => Level::System,
            Source::Owner => Level::Organisation,
            Source::Team(_) => Level::Team,
            Source::Org(team) if team.is_main() => Level::Organisation,
            Source::Org(team) if *team == self.team => Level::Team,
            Source::Org(_) => Level::Ancestor,
        }
    }

    /// The text of the fixed rules: the same bytes for every team of one role.
    pub fn fixed_text(&self) -> String {
        let of = |is_system: bool| {
            let rules = self.fixed.iter().filter(|rule| (rule.source == Source::System) == is_system);
            rules.map(|rule| rule.text.as_str()).collect::<Vec<_>>().join("\n\n")
        };
        let (system, owner) = (of(true), of(false));
        let mut parts = vec![format!("--- System Rules ---\n\n{system}")];
        if !owner.is_empty() {
            parts.push(format!("--- Organization Rules ---\n\n{owner}"));
        }
        parts.join("\n\n")
    }

    /// The text of the teams' rules: a part for each team that has some. Empty where none has.
    pub fn varying_text(&self) -> String {
        let mut parts: Vec<(String, Vec<&str>)> = Vec::new();
        for rule in &self.varying {
            let heading = match &rule.source {
                Source::Org(team) => format!("--- Org Rules: {team} ---"),
                Source::Team(team) => format!("--- Team Rules: {team} ---"),
                Source::System | Source::Owner => continue,
            };
            match parts.last_mut() {
                Some((last, texts)) if *last == heading => texts.push(&rule.text),
                _ => parts.push((heading, vec![&rule.text])),
            }
        }
        let mut parts: Vec<String> =
            parts.into_iter().map(|(heading, texts)| format!("{heading}\n\n{}", texts.join("\n\n"))).collect();
        if !self.left_out.is_empty() {
            let files = self.left_out.join(", ");
            parts.push(format!("There are more rules than fit here. Left out: {files}. Say so if it matters."));
        }
        if !self.unread.is_empty() {
            let files = self.unread.join(", ");
            parts.push(format!("There are rules that cannot be read: {files}. Say so if it matters."));
        }
        parts.join("\n\n")
    }
}

fn of_owner(rules: &[Rule]) -> (Vec<Rule>, Vec<Fault>) {
    bounded(rules, "the owner's rules", OWNER_TOKENS_MAX)
}

/// The rules for which there is room, and a fault for each of the others.
fn bounded<'r>(rules: impl IntoIterator<Item = &'r Rule>, whose: &str, tokens_max: u64) -> (Vec<Rule>, Vec<Fault>) {
    let rules: Vec<&Rule> = rules.into_iter().collect();
    let whole: u64 = rules.iter().map(|rule| rule.tokens).sum();
    let mut left = tokens_max;
    let (mut kept, mut faults) = (Vec::new(), Vec::new());
    for rule in rules {
        if rule.tokens <= left {
            left -= rule.tokens;
            kept.push(rule.clone());
        } else {
            let message = format!("{whose} are about {whole} tokens together, and at most {tokens_max}");
            let message = format!("{message} are read: this file is left out; shorten it, or others");
            faults.push(Fault::error(&rule.file, None, message));
        }
    }
    (kept, faults)
}

/// What is wrong with a folder of rules that nobody reads: a name that is nearly one of the two.
pub(crate) fn misnamed(name: &str) -> Option<&'static str> {
    let key = name.to_ascii_lowercase().replace(['_', ' '], "-");
    let near = |right: &&str| key == **right || key == right.trim_end_matches('s') || key == right.replace('-', "");
    [ORG_FOLDER, TEAM_FOLDER].into_iter().find(|right| name != *right && near(right))
}
