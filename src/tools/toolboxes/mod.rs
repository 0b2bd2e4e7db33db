//! Toolboxes: the built-in ones, and the tools that make and show others.

mod create_toolbox;
mod delete_toolbox;
mod directory;
mod list_toolboxes;
mod list_tools;
mod request_tool_access;
#[cfg(test)]
mod tests;
mod update_toolbox;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use store::toolboxes::Toolbox;

pub use create_toolbox::CreateToolbox;
pub use delete_toolbox::DeleteToolbox;
pub use directory::Directory;
pub use list_toolboxes::ListToolboxes;
pub use list_tools::ListTools;
pub use request_tool_access::RequestToolAccess;
pub use update_toolbox::UpdateToolbox;

const BUILT_IN: &str = include_str!("../../../prompts/toolboxes.toml");

/// The toolboxes of this program, by name.
///
/// # Errors
/// If the text of the program is no such list: a fault of ours that a test finds.
pub fn built_in() -> Result<Vec<Toolbox>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        about: String,
        tools: Vec<String>,
    }
    let written: BTreeMap<String, Written> = toml::from_str(BUILT_IN).context("read the built-in toolboxes")?;
    let toolbox = |(name, Written { about, tools })| Toolbox { name, about, tools, builtin: true };
    Ok(written.into_iter().map(toolbox).collect())
}

/// A name that people and models can write: letters, digits, dashes.
fn name_of(text: &str) -> Result<String, String> {
    let name = text.trim().to_lowercase();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
        return Err(format!(
            "NAME_REQUIRED: `{}` is no name for a toolbox: up to 40 of a-z, 0-9 and -",
            base::text::headline(text, 60)
        ));
    }
    Ok(name)
}
