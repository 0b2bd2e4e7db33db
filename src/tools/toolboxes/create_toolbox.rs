//! `create_toolbox`: a new named allow-list.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::toolboxes::{self, Toolbox};
use store::{Conn, Db};

use super::{Directory, name_of};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Makes a toolbox.
pub struct CreateToolbox {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// What tools there are.
    pub directory: Directory,
}

/// The toolbox.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToolboxArgs {
    /// Its name: up to 40 of a-z, 0-9 and -.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Names of tools, or `*` for every native tool and every enabled custom tool.
    pub tools: Vec<String>,
}

/// What was made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolboxMade {
    /// Always true.
    pub success: bool,
    /// Its name.
    pub name: String,
    /// The names as they are kept.
    pub tools: Vec<String>,
    /// How many tools it stands for now.
    pub tool_count: usize,
}

impl Tool for CreateToolbox {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("create_toolbox"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/create_toolbox.md")),
        domain: Domain::Admin,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Write,
        ops: Ops::Org,
        effect: Effect::Once,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 8 * 1_024,
        default_disabled: true,
        provenance: Provenance::Admin,
    };
    type Args = CreateToolboxArgs;
    type Output = ToolboxMade;

    async fn run(&self, _: &Call, args: CreateToolboxArgs) -> Result<ToolboxMade, ToolError> {
        let name = name_of(&args.name).map_err(ToolError::Refused)?;
        let tools = self.directory.checked(&args.tools).map_err(ToolError::Refused)?;
        let about = args.description.as_deref().map(|text| base::text::headline(text, 300)).unwrap_or_default();
        let toolbox = Toolbox { name, about, tools, builtin: false };
        let now = self.clock.now();
        let made = async |conn: &mut Conn| {
            if toolboxes::get(conn, &toolbox.name).await?.is_some() {
                return Ok(false);
            }
            toolboxes::set(conn, &toolbox, now).await.map(|()| true)
        };
        if !self.db.tx("make a toolbox", made).await? {
            let why = format!("NAME_TAKEN: there is a toolbox `{}`; `update_toolbox` changes it", toolbox.name);
            return Err(ToolError::Refused(why));
        }
        let tool_count = self.directory.count(&toolbox.tools);
        Ok(ToolboxMade { success: true, name: toolbox.name, tools: toolbox.tools, tool_count })
    }
}
