//! What a caller may write into a child's configuration: nothing that it lacks itself.

use std::sync::Arc;

use anyhow::Result;
use org::markdown::Slug;
use org::teams::{TeamConfig, Tree};
use store::{Conn, Db, toolboxes};

use super::grant::heritage;
use crate::call::Call;
use crate::glob;
use crate::tool::ToolError;
use crate::toolboxes::Directory;

/// What a configuration is held against. Clones are the same.
#[derive(Clone)]
pub struct Charter {
    /// The toolboxes there are.
    pub db: Db,
    /// The tools there are.
    pub directory: Directory,
    /// What the caller's own team may do.
    pub tree: Tree,
    /// The names of the models' profiles.
    pub profiles: Arc<[String]>,
}

impl Charter {
    /// Looks whether a caller may give this to a child.
    ///
    /// # Errors
    /// Refused with everything that it may not.
    pub async fn check(&self, call: &Call, file: &str, config: &TeamConfig) -> Result<(), ToolError> {
        let own = self.tree.in_force(&call.team).await?;
        let more = own.last().map(|(_, own)| config.excess(own)).unwrap_or_default();
        let mut wrong: Vec<String> = more.iter().map(ToString::to_string).collect();
        wrong.extend(self.tools(call, config));
        let all = self.db.read(async |conn: &mut Conn| toolboxes::list(conn).await).await?;
        let unknown = config.toolboxes.iter().flatten().filter(|name| !all.iter().any(|known| known.name == **name));
        wrong.extend(
            unknown.map(|name| format!("`toolboxes`: there is no toolbox `{name}`; `list_toolboxes` shows them")),
        );
        wrong.extend(self.profiles(config));
        if wrong.is_empty() {
            return Ok(());
        }
        Err(ToolError::Refused(format!("{file} asks for what this team cannot give:\n- {}", wrong.join("\n- "))))
    }

    /// What names a profile that there is not. One that goes later is no fault of the file's: the main agent's model answers.
    fn profiles(&self, config: &TeamConfig) -> Vec<String> {
        let known = match &*self.profiles {
            [] => "there are none".to_owned(),
            names => format!("there are: `{}`", names.join("`, `")),
        };
        let named = [("provider_profile", &config.provider_profile), ("memory_embedding", &config.memory_embedding)];
        let unknown = named.into_iter().filter_map(|(field, name)| Some((field, name.as_ref()?)));
        let unknown = unknown.filter(|(_, name)| {
            let profile = name.split_once(':').map_or(name.as_str(), |(profile, _)| profile);
            !self.profiles.iter().any(|known| known == profile)
        });
        unknown.map(|(field, name)| format!("`{field}`: there is no profile `{name}`; {known}")).collect()
    }

    /// What of `allowed_tools` names a tool that the caller lacks, or none at all. A pattern names none by itself: of what
    /// it matches, a child has what its parent has.
    fn tools(&self, call: &Call, config: &TeamConfig) -> Vec<String> {
        let own = heritage(self.directory.records().iter(), &call.grant);
        let mut wrong = Vec::new();
        for name in config.allowed_tools.iter().filter(|name| glob::is_plain(name)) {
            let known = self.directory.records().iter().find(|tool| tool.names().any(|known| known == *name));
            match known {
                Some(tool) if own.contains(&tool.name) => {}
                Some(_) => wrong.push(format!("`allowed_tools`: you may not use `{name}` yourself")),
                // Plugins, servers and subagents come and go: their names grant nothing until they are there.
                None if name.starts_with("mcp__") || name.contains('.') => {}
                // A subagent's name has hyphens, as a new team is told; a tool's has `_`, and is misspelled here.
                None if !name.contains('_') && Slug::parse(name).is_some() => {}
                None => wrong.push(format!("`allowed_tools`: there is no tool `{name}`; `list_tools` shows them")),
            }
        }
        wrong
    }
}
