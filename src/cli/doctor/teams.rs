//! What is wrong with the teams: their configurations, rules, skills and subagents, with file and line.

use anyhow::Result;
use base::{Clock, TeamName};
use org::handbook::{self, Handbook};
use org::markdown::{Fault, Folder, Grade, Whose};
use org::rules::{self, Cascade, Place, Role, Rule};
use store::{Conn, teams};

use super::Findings;
use crate::cli::explain;
use crate::cli::run::open;
use crate::config::Config;
use crate::toolkit::Rights;

/// Looks at the owner's rules and at every team, the root first.
pub(super) async fn look(config: &Config, found: &mut Findings) -> Result<()> {
    let db = open(config).await?;
    let kit = match explain::kit(config, &db).await {
        Ok(kit) => kit,
        Err(error) => return found.bad(&format!("tools: {error:#}")),
    };
    let catalogue = kit.executor.catalogue;
    let rights = match Rights::open(&db, Clock::Wall, &catalogue, &config.settings.team).await {
        Ok(rights) => rights,
        Err(error) => return found.bad(&format!("tools: {error:#}")),
    };
    let mut faults = Vec::new();
    let owner = rules::owner(&config.data_dir, &mut faults);
    faults.extend(Cascade::too_long(&owner));
    let below = db.read(async |conn: &mut Conn| teams::descendants(conn, &TeamName::main()).await).await?;
    let names: Vec<TeamName> = [TeamName::main()].into_iter().chain(below.into_iter().map(|team| team.name)).collect();
    for name in &names {
        // The tools that its agent has are not the question: a name that any tool has is taken.
        let of_team = match rights.of_team(&kit.tree, name).await {
            Ok(of_team) => of_team,
            Err(error) => {
                found.bad(&format!("team {name}: {error:#}"))?;
                continue;
            }
        };
        let read = |team: &TeamName| {
            let folder = Folder::open(&config.run_dir.join("teams").join(team.as_str()), Whose::Team)?;
            Ok::<_, std::io::Error>(Handbook::read(&folder, team, |name| catalogue.by_name(name).is_some()))
        };
        let Ok(book) = read(name) else {
            found.bad(&format!("team {name}: there is no folder teams/{name}"))?;
            continue;
        };
        let above: Vec<Vec<Rule>> =
            of_team.above.iter().map(|team| read(team).map(|book| book.org_rules).unwrap_or_default()).collect();
        let above: Vec<&[Rule]> = above.iter().map(Vec::as_slice).collect();
        let role = if name.is_main() { Role::Main } else { Role::Team };
        let (org, own) = (book.org_rules.as_slice(), book.team_rules.as_slice());
        let place = Place { team: name, role, owner: &owner, above: &above, org, own };
        faults.extend(handbook::faults(&book, &Cascade::of(&place)));
    }
    tell(&faults, names.len(), found)
}

fn tell(faults: &[Fault], teams: usize, found: &mut Findings) -> Result<()> {
    for fault in faults {
        match fault.grade {
            Grade::Error => found.bad(&fault.to_string())?,
            Grade::Warning => found.note(&fault.to_string())?,
        }
    }
    if faults.is_empty() {
        let what = if teams == 1 { "the main team's files".to_owned() } else { format!("the files of {teams} teams") };
        found.good(&format!("{what} and the owner's rules"))?;
    }
    Ok(())
}
