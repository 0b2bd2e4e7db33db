//! What in a team's `config.yaml` leads nowhere: names that nothing has, and more than the team above has. Pure.

use llm::Models;
use org::markdown::Fault;
use org::teams::{TeamConfig, Written};
use store::teams::Team;
use tools::{ActiveSet, Catalogue};

/// What a file is held against.
pub(super) struct Ground<'a> {
    /// The tools there are.
    pub catalogue: &'a Catalogue,
    /// The names of the toolboxes there are.
    pub toolboxes: &'a [String],
    /// The models there are; `None` where they cannot be made, which is told elsewhere.
    pub models: Option<&'a Models>,
}

/// A team, as everything but its file says.
pub(super) struct Known<'a> {
    /// Its row.
    pub row: &'a Team,
    /// The names of its subagents.
    pub subagents: Vec<&'a str>,
    /// What is in force of the team above, and the tools that it can hand on; `None` where that is not known.
    pub above: Option<(&'a TeamConfig, &'a ActiveSet)>,
}

/// What leads nowhere, in the order of the file.
pub(super) fn faults(ground: &Ground<'_>, known: &Known<'_>, written: &Written) -> Vec<Fault> {
    let config = &written.config;
    let mut wrong = strange_names(known.row, config);
    wrong.extend(tools(ground, known, config));
    for name in config.toolboxes.iter().flatten().filter(|name| !ground.toolboxes.contains(name)) {
        let there = ground.toolboxes.join(", ");
        wrong.push((
            "toolboxes".to_owned(),
            format!("there is no toolbox `{name}`, and it grants nothing; there are: {there}"),
        ));
    }
    wrong.extend(ground.models.into_iter().flat_map(|models| profiles(models, config)));
    if let Some((above, _)) = known.above {
        let more = config.excess(above).into_iter();
        wrong.extend(more.map(|excess| (excess.key, format!("{}, and no more than that holds here", excess.why))));
    }
    let fault =
        |(key, why): (String, String)| Fault::error(&written.file, written.line(&key), format!("`{key}`: {why}"));
    let mut faults: Vec<Fault> = wrong.into_iter().map(fault).collect();
    if config.memory_embedding.is_some() {
        let why =
            "`memory_embedding`: it has no effect yet: every team's memory is searched as the owner's config.yaml says";
        faults.push(Fault::warning(&written.file, written.line("memory_embedding"), why));
    }
    faults.sort_by_key(|fault| fault.line);
    faults
}

type Wrong = (String, String);

/// Whose child a team is its row says.
fn strange_names(row: &Team, config: &TeamConfig) -> Vec<Wrong> {
    let name = Some(&row.name).zip(config.name.as_ref());
    let parent = row.parent.as_ref().zip(config.parent.as_ref());
    let both = [("name", name), ("parent", parent)];
    let differ = both.into_iter().filter_map(|(key, pair)| Some((key, pair.filter(|(is, said)| is != said)?)));
    differ
        .map(|(key, (is, said))| {
            (key.to_owned(), format!("it is `{is}`, not `{said}`: write that, or take the line out"))
        })
        .collect()
}

/// A pattern names no tool by itself; plugins and servers come and go.
fn tools(ground: &Ground<'_>, known: &Known<'_>, config: &TeamConfig) -> Vec<Wrong> {
    let named = config.allowed_tools.iter().filter(|name| !name.contains(['*', '.']) && !name.starts_with("mcp__"));
    let wrong = named.filter(|name| !known.subagents.contains(&name.as_str())).filter_map(|name| {
        let Some(tool) = ground.catalogue.by_name(name) else {
            let names = ground.catalogue.entries().map(|entry| &*entry.spec().name);
            let meant = base::text::meant(name, names.chain(known.subagents.iter().copied()));
            let hint = meant.map_or_else(String::new, |meant| format!(": did you mean `{meant}`?"));
            return Some(format!("there is no tool and no subagent `{name}`, and it grants nothing{hint}"));
        };
        let (_, heritage) = known.above?;
        (!heritage.contains(&tool.spec().name))
            .then(|| format!("the team above may not use `{name}`, and so this one may not"))
    });
    wrong.map(|why| ("allowed_tools".to_owned(), why)).collect()
}

/// Other models take the place of those that there are not: a team must not fall silent.
fn profiles(models: &Models, config: &TeamConfig) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    if let Some(name) =
        config.provider_profile.as_ref().filter(|name| models.profiles().all(|known| known.name != **name))
    {
        let names: Vec<&str> = models.profiles().map(|profile| profile.name.as_str()).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let why = format!("there is no profile `{name}`, and the main agent's model answers; there are: {there}");
        wrong.push(("provider_profile".to_owned(), why));
    }
    if let Some(name) = &config.memory_embedding {
        let made = models.reference(name).map_err(|unknown| unknown.to_string());
        if let Err(why) = made.and_then(|model| models.embeddings(&model).map_err(|bad| bad.to_string())) {
            let why = format!("{why}; what the hive's memory is searched with takes its place");
            wrong.push(("memory_embedding".to_owned(), why));
        }
    }
    wrong
}
