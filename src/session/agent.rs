//! Who has a turn: a team's agent, with its prompt, its tools, its model and its bounds.
//!
//! An agent is made for one turn from what the rows and its team's folder say then, so that a changed rule, skill or
//! grant holds from the next turn on, and a team at rest takes no memory.

mod books;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use base::{Moment, RunId, TeamName};
use llm::{Model, Models, ToolDef};
use org::handbook::Handbook;
use org::markdown::{Folder, Whose};
use org::rules::{self, Cascade, Place, Role, Rule};
use org::subagents::Subagent;
use org::teams::{TeamConfig, Tree, TreeError};
use store::tasks::Task;
use store::{Conn, Db, teams, todos, toolboxes};
use tools::delegation::{Persona, RUN_SUBAGENT, Reach, Subagents};
use tools::{ActiveSet, AgentKind, Grant, Remit, Toolbox};

use super::prompt::{self, Fixed, Identity, Own, Station, TakesUp};
use crate::config;
use crate::toolkit::{OfTeam, Outfit, Rights};
use books::Books;

/// The toolbox of scouts.
const SCOUT: &str = "scout";
/// Most faults of files that are told to whoever misses what they should say.
const FAULTS_TOLD_MAX: usize = 3;
/// The tool that takes a skill up.
const ACTIVATE_SKILL: &str = "activate_skill";

/// An agent. It is made for a turn, and knows nothing of any talk.
#[derive(Clone)]
pub struct Agent {
    /// Its team.
    pub team: TeamName,
    /// The text that is the same in every session of its role.
    pub fixed: Arc<Fixed>,
    /// What is its team's own: rules, who it is, skills.
    pub own: Arc<str>,
    /// What it may use in a turn that no admin caused.
    pub held: Arc<Grant>,
    /// What it is shown of that: its children as the only choice, its subagents by name.
    pub tools: Arc<[ToolDef]>,
    /// Its team's subagents, as far as it may use them.
    pub subagents: Arc<Subagents>,
    /// The skill that each of its turns begins with: the only one that a subagent has.
    pub follows: Option<String>,
    /// What it asks.
    pub mind: Mind,
    /// Most steps of a turn.
    pub steps_max: i64,
    /// What its team may spend in a day.
    pub budgets: org::teams::Budgets,
}

impl Agent {
    /// Has a new turn of this agent follow the skill that its turns begin with.
    ///
    /// # Errors
    /// Only the database's.
    pub(super) async fn follow(&self, conn: &mut Conn, run: RunId, now: Moment) -> Result<()> {
        if let Some(skill) = &self.follows {
            todos::activate_skill(conn, run, skill, now).await?;
        }
        Ok(())
    }
}

/// What of an error of [`Agents::of_task`] people are told; `None` where the fault is ours.
pub(super) fn in_words(error: &anyhow::Error) -> Option<String> {
    match error.downcast_ref::<TreeError>()? {
        TreeError::Refused(why) => Some(format!("⚠️ I could not begin: {why}")),
        TreeError::Broken(_) => None,
    }
}

/// A model, and how much of it a turn uses.
#[derive(Clone)]
pub struct Mind {
    /// The model, with its retries and fallbacks.
    pub model: Arc<dyn Model>,
    /// The longest answer that is asked for.
    pub output_tokens_max: u32,
    /// Tokens of the window kept free for the answer and for results of tools.
    pub reserve_tokens: u64,
}

impl Mind {
    /// As much of the model as the configuration of sessions says.
    pub fn of(model: Arc<dyn Model>, output_tokens_max: u32, rules: &config::Session) -> Mind {
        let reserve_tokens = rules.reserve_tokens(model.context_window_tokens());
        Mind { model, output_tokens_max, reserve_tokens }
    }
}

/// The owner's rules, and the texts that are the same in every session.
pub struct Prompts {
    owner: Vec<Rule>,
    by_role: [OfRole; 3],
    /// The tools that the task of a new team speaks of.
    in_bootstrap: Vec<String>,
}

/// What is the same in every session of a role.
struct OfRole {
    role: Role,
    fixed: Arc<Fixed>,
    /// The tools that the rules of the role speak of.
    named: Vec<String>,
}

impl Prompts {
    /// Of these rules.
    pub fn of(owner: Vec<Rule>) -> Prompts {
        let of_role = |role| OfRole { role, fixed: Arc::new(Fixed::of(role, &owner)), named: prompt::in_rules(role) };
        Prompts { by_role: Role::ALL.map(of_role), owner, in_bootstrap: prompt::in_bootstrap() }
    }

    fn of_role(&self, role: Role) -> &OfRole {
        self.by_role.iter().find(|of_role| of_role.role == role).expect("there is one for every role")
    }
}

/// Where agents come from.
pub struct Agents {
    /// What the main agent may use now.
    pub rights: Arc<Rights>,
    /// The teams, and what each may do.
    pub tree: Tree,
    /// What a team's configuration changes about its tools.
    pub outfit: Outfit,
    /// The main agent's model.
    pub mind: Mind,
    /// All models: a team's configuration names its profile.
    pub models: Arc<Models>,
    /// How sessions are configured.
    pub session: config::Session,
    /// What is the same in every session.
    pub prompts: Prompts,
    /// The teams' folders.
    pub teams_dir: PathBuf,
    /// What was made for turns before this one.
    pub made: Made,
}

/// What was made for turns before this one, and is used again as long as what it was made from is the same.
#[derive(Default)]
pub struct Made {
    books: Books,
    main: Mutex<Option<(House, Agent)>>,
}

/// A team as the rows and its folder have it now: everything that its agent is made from.
struct House {
    team: teams::Team,
    children: Vec<teams::Team>,
    scope: Vec<String>,
    book: Arc<Handbook>,
    /// What the folders of the teams above say, the root's first.
    above: Vec<Arc<Handbook>>,
    config: TeamConfig,
    held: Arc<Grant>,
}

impl House {
    /// What the team is for: what the tree says, else what its persona does.
    fn description(&self) -> &str {
        match self.team.description.trim() {
            "" => self.book.persona.as_ref().map_or("", |persona| &persona.description),
            said => said,
        }
    }

    /// The files of rules that cannot be read, its own and those above.
    fn unread_rules(&self) -> Vec<String> {
        let above = self.above.iter().flat_map(|book| rules::unread(&book.team, &book.faults, true));
        above.chain(rules::unread(&self.book.team, &self.book.faults, false)).collect()
    }

    /// Whether nothing differs. What is shared is the same where it was neither read nor made anew.
    fn is_same(&self, other: &House) -> bool {
        (&self.team, &self.children, &self.scope) == (&other.team, &other.children, &other.scope)
            && Arc::ptr_eq(&self.held, &other.held)
            && Arc::ptr_eq(&self.book, &other.book)
            && (self.above.len() == other.above.len())
            && self.above.iter().zip(&other.above).all(|(one, other)| Arc::ptr_eq(one, other))
            && self.config == other.config
    }
}

impl Agents {
    /// The agent that does a task.
    ///
    /// # Errors
    /// Where its team is gone, or its configuration cannot be understood.
    pub(super) async fn of_task(&self, db: &Db, task: &Task) -> Result<Agent> {
        match &task.options.subagent {
            Some(name) => self.subagent(db, &task.team, name).await,
            None => self.of_team(db, &task.team).await,
        }
    }

    /// The agent of a team.
    ///
    /// # Errors
    /// Where the team is gone, or its configuration cannot be understood.
    pub async fn of_team(&self, db: &Db, name: &TeamName) -> Result<Agent> {
        let house = self.house(db, name).await?;
        let make = |role| self.agent(&house, role, Identity::Orchestrator, house.held.clone());
        if !name.is_main() {
            return make(Role::Team);
        }
        // People wait for it, and it is the same for nearly all of its turns.
        if let Some((from, agent)) = &*self.made.main.lock().unwrap_or_else(PoisonError::into_inner)
            && from.is_same(&house)
        {
            return Ok(agent.clone());
        }
        let agent = make(Role::Main)?;
        *self.made.main.lock().unwrap_or_else(PoisonError::into_inner) = Some((house, agent.clone()));
        Ok(agent)
    }

    /// A subagent of a team: what its team's agent has, and no more than its file says.
    ///
    /// # Errors
    /// Where the team has none of this name.
    pub(super) async fn subagent(&self, db: &Db, team: &TeamName, name: &str) -> Result<Agent> {
        let house = self.house(db, team).await?;
        let subagent = house.book.subagent(name).ok_or_else(|| no_subagent(&house.book, name))?;
        let skills = subagent.skills.iter().map(|skill| skill.name.to_string()).collect();
        let remit = Remit { tools: subagent.tools.clone(), skills };
        let grant = Grant { remit: Some(remit), ..self.below(&house.held, AgentKind::Sub) };
        let mut agent = self.agent(&house, Role::Subagent, Identity::Subagent(subagent), Arc::new(grant))?;
        if let [(_, only)] = &house.book.skills_of(subagent).collect::<Vec<_>>()[..] {
            agent.follows = Some(only.name.to_string());
        }
        Ok(agent)
    }

    /// The text of the skills that a turn of the team has taken up, as the team's files are now.
    ///
    /// # Errors
    /// Where the team's folder cannot be opened.
    pub(super) fn skills(&self, team: &TeamName, taken_up: &[String]) -> Result<String> {
        if taken_up.is_empty() {
            return Ok(String::new());
        }
        let path = self.teams_dir.join(team.as_str());
        let folder = Folder::open(&path, Whose::Team).with_context(|| format!("open {}", path.display()))?;
        Ok(prompt::taken_up(&folder, &*self.handbook(team)?, taken_up))
    }

    /// A leaf of a team that only looks.
    ///
    /// # Errors
    /// Where the team is gone.
    pub(super) async fn scout(&self, db: &Db, team: &TeamName) -> Result<Agent> {
        let house = self.house(db, team).await?;
        let all = db.read(async |conn: &mut Conn| toolboxes::list(conn).await).await?;
        let own = all.into_iter().find(|toolbox| toolbox.name == SCOUT);
        let own = own.map(|toolbox| Toolbox { name: toolbox.name, tools: toolbox.tools });
        let below = self.below(&house.held, AgentKind::Scout);
        let grant = Grant { toolboxes: Some(own.into_iter().collect()), direct: Vec::new(), ..below };
        let mut scout = self.agent(&house, Role::Subagent, Identity::Scout, Arc::new(grant))?;
        if let Some(mind) = self.mind_of(SCOUT)? {
            scout.mind = mind;
        }
        Ok(scout)
    }

    /// The same agent with what it may use now; nothing is read where nothing has changed.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub(super) async fn renewed(&self, db: &Db, agent: &Arc<Agent>) -> Result<Arc<Agent>> {
        let held = self.rights.now().await?;
        // A subagent or a scout of the main team keeps the little that it has.
        if agent.held.agent != AgentKind::Main || Arc::ptr_eq(&held, &agent.held) {
            return Ok(agent.clone());
        }
        Ok(Arc::new(self.of_team(db, &agent.team).await?))
    }

    /// What somebody who works for the holder of a grant may have at most.
    fn below(&self, grant: &Grant, agent: AgentKind) -> Grant {
        Grant { agent, parent: Some(self.rights.catalogue().active(grant)), ..grant.clone() }
    }

    async fn house(&self, db: &Db, name: &TeamName) -> Result<House> {
        let OfTeam { config, above, held } = self.rights.of_team(&self.tree, name).await?;
        let (team, children, scope) = db
            .read(async |conn: &mut Conn| {
                let (team, children) = (teams::get(conn, name).await?, teams::children(conn, name).await?);
                Ok((team, children, teams::scope(conn, name).await?))
            })
            .await?;
        let team = team.with_context(|| format!("there is no team `{name}`"))?;
        let above = above.iter().map(|team| self.handbook(team)).collect::<Result<_>>()?;
        self.outfit.fit(name, &config)?;
        Ok(House { team, children, scope, book: self.handbook(name)?, above, config, held })
    }

    /// What a team's folder says.
    fn handbook(&self, team: &TeamName) -> Result<Arc<Handbook>> {
        let is_tool = |name: &str| self.rights.catalogue().by_name(name).is_some();
        self.made.books.read(&self.teams_dir.join(team.as_str()), team, is_tool)
    }

    fn agent(&self, house: &House, role: Role, identity: Identity<'_>, held: Arc<Grant>) -> Result<Agent> {
        let (name, catalogue) = (&house.team.name, self.rights.catalogue());
        let above: Vec<&[Rule]> = house.above.iter().map(|book| book.org_rules.as_slice()).collect();
        let place = Place {
            team: name,
            role,
            owner: &self.prompts.owner,
            above: &above,
            org: &house.book.org_rules,
            own: &house.book.team_rules,
            unread: &house.unread_rules(),
        };
        // Who works for another agent of the team asks nobody.
        let delegates = role != Role::Subagent;
        let children: Vec<_> = match delegates {
            true => house.children.iter().map(|team| (team.name.clone(), team.description.clone())).collect(),
            false => Vec::new(),
        };
        let subagents = if delegates { self.subagents_of(house, &held) } else { Subagents::default() };
        let active = catalogue.active(&held);
        let missing = self.missing(house, role, &active);
        let workspace = self.teams_dir.join(name.as_str());
        let own = Own {
            station: Station {
                team: name,
                description: house.description(),
                scope: &house.scope,
                children: &children,
                workspace: &workspace,
            },
            missing: &missing,
            cascade: &Cascade::of(&place),
            handbook: &house.book,
            identity,
            takes_up: if active.contains(ACTIVATE_SKILL) { TakesUp::ByTool } else { TakesUp::ByFile },
        };
        let names: Vec<TeamName> = children.iter().map(|(name, _)| name.clone()).collect();
        // Subagents stand where the tool would that runs them, also where each was granted by its own name.
        let active: ActiveSet = active.names().chain((!subagents.is_empty()).then_some(RUN_SUBAGENT)).collect();
        let shown = Reach { children: &names, subagents: &subagents }.fit(catalogue.definitions(&active));
        let mind = match &house.config.provider_profile {
            Some(profile) => self.mind_of(profile)?.unwrap_or_else(|| self.mind.clone()),
            None => self.mind.clone(),
        };
        let steps_max = if name.is_main() { self.session.max_steps } else { u64::from(house.config.max_steps) };
        Ok(Agent {
            team: name.clone(),
            fixed: self.prompts.of_role(role).fixed.clone(),
            own: own.text().into(),
            held,
            tools: shown.into_iter().map(ToolDef::from).collect(),
            subagents: Arc::new(subagents),
            follows: None,
            mind,
            steps_max: i64::try_from(steps_max).context("the steps of a turn")?,
            budgets: house.config.budgets,
        })
    }

    /// The subagents that the holder of a grant may use.
    fn subagents_of(&self, house: &House, grant: &Grant) -> Subagents {
        let catalogue = self.rights.catalogue();
        let Some(run) = catalogue.by_name(RUN_SUBAGENT) else { return Subagents::default() };
        let may = |subagent: &&Subagent| {
            let name = subagent.name.as_str();
            match catalogue.by_name(name) {
                // A list that has this name means the tool.
                Some(_) => tools::shown(run.spec(), grant).allowed,
                None => tools::shown_subagent(run.spec(), name, grant).allowed,
            }
        };
        let personas: Vec<Persona> = house.book.subagents.iter().filter(may).map(persona).collect();
        Subagents::of(catalogue, &personas)
    }

    /// The tools that our own texts speak of and that this session does not have.
    fn missing(&self, house: &House, role: Role, active: &ActiveSet) -> Vec<&str> {
        let is_new = role == Role::Team && house.team.state == teams::State::Bootstrapping;
        let of_bootstrap = self.prompts.in_bootstrap.iter().filter(|_| is_new);
        let named = self.prompts.of_role(role).named.iter().chain(of_bootstrap).map(String::as_str);
        let is_missing = |name: &&str| {
            let known = self.rights.catalogue().by_name(name);
            known.is_some_and(|entry| !active.contains(&entry.spec().name))
        };
        let mut missing: Vec<&str> = named.filter(is_missing).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// The model of a profile. A profile that there is not is logged, and the main agent's model answers: a team must
    /// not fall silent because a profile was renamed.
    fn mind_of(&self, profile: &str) -> Result<Option<Mind>> {
        let Some(found) = self.models.profiles().find(|known| known.name == profile) else {
            if profile != SCOUT {
                tracing::warn!("there is no profile `{profile}`, which a team names: the main agent's model answers");
            }
            return Ok(None);
        };
        let model = self.models.get(&found.reference())?;
        Ok(Some(Mind::of(model, found.output_tokens_max, &self.session)))
    }
}

/// Whoever asked for this subagent is told which there are, and which files are none by a fault.
fn no_subagent(book: &Handbook, name: &str) -> TreeError {
    let names: Vec<_> = book.subagents.iter().map(|subagent| subagent.name.as_str()).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let mut why = format!("the team {} has no subagent `{name}`; it has: {there}", book.team);
    for fault in book.errors_in(org::subagents::FOLDER).take(FAULTS_TOLD_MAX) {
        why.push_str(&format!("\nteams/{}/{fault}", book.team));
    }
    TreeError::Refused(why)
}

fn persona(subagent: &Subagent) -> Persona {
    Persona { name: subagent.name.as_str().to_owned(), about: subagent.description.clone() }
}
