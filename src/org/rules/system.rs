//! The rules of this program, by role: a child never reads what only the main agent is told.

use super::{Rule, Source, rule};

/// Which sort of agent reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The main agent: it talks to people.
    Main,
    /// A team's own agent: it works for the team above.
    Team,
    /// A subagent of a team, or a scout: it does one task for an agent.
    Subagent,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Main, Role::Team, Role::Subagent];
}

const ALL: (&str, &str) = ("prompts/rules/all.md", include_str!("../../../prompts/rules/all.md"));
const MAIN: (&str, &str) = ("prompts/rules/main.md", include_str!("../../../prompts/rules/main.md"));
const TEAM: (&str, &str) = ("prompts/rules/team.md", include_str!("../../../prompts/rules/team.md"));
const SUBAGENT: (&str, &str) = ("prompts/rules/subagent.md", include_str!("../../../prompts/rules/subagent.md"));

/// The rules that hold for every agent, then those of its role.
pub fn system(role: Role) -> Vec<Rule> {
    let own = match role {
        Role::Main => MAIN,
        Role::Team => TEAM,
        Role::Subagent => SUBAGENT,
    };
    [ALL, own].into_iter().map(|(file, text)| rule(Source::System, file, file, text, &mut Vec::new())).collect()
}
