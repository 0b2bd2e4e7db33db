//! What a caller may write into a child's configuration: nothing that it lacks itself.

use anyhow::Result;
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
}

impl Charter {
    /// Looks whether a caller may give this to a child.
    ///
    /// # Errors
    /// Refused with everything that it may not.
    pub async fn check(&self, call: &Call, file: &str, config: &TeamConfig) -> Result<(), ToolError> {
        let own = self.tree.in_force(&call.team).await?;
        let mut wrong = own.last().map(|(_, own)| config.excess(own)).unwrap_or_default();
        wrong.extend(self.tools(call, config));
        let all = self.db.read(async |conn: &mut Conn| toolboxes::list(conn).await).await?;
        let unknown = config.toolboxes.iter().flatten().filter(|name| !all.iter().any(|known| known.name == **name));
        wrong.extend(
            unknown.map(|name| format!("`toolboxes`: there is no toolbox `{name}`; `list_toolboxes` shows them")),
        );
        if wrong.is_empty() {
            return Ok(());
        }
        Err(ToolError::Refused(format!("{file} asks for what this team cannot give:\n- {}", wrong.join("\n- "))))
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
                // Plugins and servers come and go: their names grant nothing until they are there.
                None if name.starts_with("mcp__") || name.contains('.') => {}
                None => wrong.push(format!("`allowed_tools`: there is no tool `{name}`; `list_tools` shows them")),
            }
        }
        wrong
    }
}
