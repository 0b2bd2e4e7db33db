//! The tree as people and models see it: read in a few statements, however many teams there are.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use base::{Moment, TeamName, clock};
use store::Conn;
use store::runs::{self, Answering};
use store::tasks::{self, Running};
use store::teams::{self, Team};
use store::usage::{self, By, Spent};

/// A team in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The team.
    pub team: Team,
    /// What it is for, in words, sorted.
    pub keywords: Vec<String>,
    /// How many tasks wait for it.
    pub queue_depth: i64,
}

/// The children of a team by name, or everything below it: parents before their children.
pub async fn below(conn: &mut Conn, root: &TeamName, recursive: bool) -> Result<Vec<Listed>> {
    let (teams, words) = match recursive {
        // Everything is below the root: no need to walk there.
        true if root.is_main() => (teams::all_but_root(conn).await?, teams::scopes(conn).await?),
        true => (teams::descendants(conn, root).await?, teams::scopes_below(conn, root).await?),
        false => (teams::children(conn, root).await?, teams::scopes_of_children(conn, root).await?),
    };
    let mut waiting: BTreeMap<String, i64> = tasks::depths(conn).await?.into_iter().collect();
    let mut scopes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (team, keyword) in words {
        scopes.entry(team).or_default().push(keyword);
    }
    let listed = |team: Team| Listed {
        keywords: scopes.remove(team.name.as_str()).unwrap_or_default(),
        queue_depth: waiting.remove(team.name.as_str()).unwrap_or_default(),
        team,
    };
    Ok(teams.into_iter().map(listed).collect())
}

/// A team with what it does now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The team.
    pub listed: Listed,
    /// The tasks that it works at now; the root team at one in each topic.
    pub running: Vec<Running>,
    /// What its sessions are asked now in the middle of turns: by the team above it, or its subagents by itself.
    pub asked: Vec<Answering>,
    /// What it has spent in the UTC day of now, its children's turns not counted.
    pub spent: Spent,
}

/// The whole tree, the root first, each team before its children, these by name.
pub async fn whole(conn: &mut Conn, now: Moment) -> Result<Vec<Seen>> {
    let root = TeamName::main();
    let first = teams::get(conn, &root).await?.context("the root team has no row")?;
    let mut running: BTreeMap<String, Vec<Running>> = BTreeMap::new();
    for task in tasks::running(conn).await? {
        running.entry(task.team.to_string()).or_default().push(task);
    }
    let mut asked: BTreeMap<String, Vec<Answering>> = BTreeMap::new();
    for question in runs::answering(conn).await? {
        asked.entry(question.team.to_string()).or_default().push(question);
    }
    let mut spent: BTreeMap<String, Spent> =
        usage::by(conn, By::Team, clock::day(now), u32::MAX).await?.into_iter().collect();
    let waits = tasks::queued_of(conn, &root).await?;
    let mut children: BTreeMap<String, Vec<Listed>> = BTreeMap::new();
    for listed in below(conn, &root, true).await? {
        let parent = listed.team.parent.as_ref().map(ToString::to_string).unwrap_or_default();
        children.entry(parent).or_default().push(listed);
    }
    let mut seen = Vec::new();
    // Last in, first out: the children of a team come right after it.
    let mut next = vec![Listed { team: first, keywords: Vec::new(), queue_depth: waits }];
    while let Some(listed) = next.pop() {
        let name = listed.team.name.as_str();
        next.extend(children.remove(name).unwrap_or_default().into_iter().rev());
        let (running, asked) = (running.remove(name).unwrap_or_default(), asked.remove(name).unwrap_or_default());
        seen.push(Seen { spent: spent.remove(name).unwrap_or_default(), listed, running, asked });
    }
    Ok(seen)
}
