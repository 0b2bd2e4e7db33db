//! `update_toolbox`: another name, description or list for a custom toolbox.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use schemars::JsonSchema;
use serde::Deserialize;
use store::toolboxes::{self, Toolbox};
use store::{Conn, Db};

use super::create_toolbox::ToolboxMade;
use super::{Directory, name_of};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Changes a toolbox.
pub struct UpdateToolbox {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// What tools there are.
    pub directory: Directory,
}

/// The change. What is left out stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateToolboxArgs {
    /// The toolbox's name.
    pub toolbox: String,
    /// Its new name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The whole new list; not together with `add` or `remove`.
    pub tools: Option<Vec<String>>,
    /// Names to add to the list.
    #[serde(default)]
    pub add: Vec<String>,
    /// Names to take off the list.
    #[serde(default)]
    pub remove: Vec<String>,
}

impl Tool for UpdateToolbox {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("update_toolbox"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/update_toolbox.md")),
        domain: Domain::Admin,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Write,
        ops: Ops::Org,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 8 * 1_024,
        default_disabled: true,
        provenance: Provenance::Admin,
    };
    type Args = UpdateToolboxArgs;
    type Output = ToolboxMade;

    async fn run(&self, _: &Call, args: UpdateToolboxArgs) -> Result<ToolboxMade, ToolError> {
        if args.tools.is_some() && !(args.add.is_empty() && args.remove.is_empty()) {
            return Err(ToolError::refused("give `tools`, or `add` and `remove`, and not both: nothing was changed"));
        }
        let now = self.clock.now();
        let change = async |conn: &mut Conn| {
            let Some(old) = toolboxes::get(conn, &args.toolbox).await? else {
                return Ok(Err(format!("there is no toolbox `{}`", base::text::headline(&args.toolbox, 60))));
            };
            let new = match self.changed(&old, &args) {
                Ok(new) => new,
                Err(why) => return Ok(Err(why)),
            };
            if new.name != old.name {
                if toolboxes::get(conn, &new.name).await?.is_some() {
                    return Ok(Err(format!("NAME_TAKEN: there is a toolbox `{}`", new.name)));
                }
                toolboxes::rename(conn, &old.name, &new.name).await?;
            }
            toolboxes::set(conn, &new, now).await?;
            Ok(Ok(new))
        };
        let new = self.db.tx("change a toolbox", change).await?.map_err(ToolError::Refused)?;
        let tool_count = self.directory.count(&new.tools);
        Ok(ToolboxMade { success: true, name: new.name, tools: new.tools, tool_count })
    }
}

impl UpdateToolbox {
    fn changed(&self, old: &Toolbox, args: &UpdateToolboxArgs) -> Result<Toolbox, String> {
        if old.builtin {
            return Err(format!("`{}` belongs to the program and cannot be changed: make one of your own", old.name));
        }
        let name = args.name.as_deref().map_or(Ok(old.name.clone()), name_of)?;
        let tools = match &args.tools {
            Some(tools) => self.directory.checked(tools)?,
            None => {
                let added = self.directory.checked(&args.add)?;
                let kept = old.tools.iter().filter(|tool| !args.remove.contains(tool));
                let mut tools: Vec<String> = kept.cloned().collect();
                tools.extend(added.into_iter().filter(|tool| !old.tools.contains(tool)));
                tools
            }
        };
        let about = args.description.as_deref().map_or(old.about.clone(), |text| base::text::headline(text, 300));
        Ok(Toolbox { name, about, tools, builtin: false })
    }
}
