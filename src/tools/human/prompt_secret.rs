//! `prompt_secret`: has a person enter a secret, which goes to the vault and to nobody else.

use std::borrow::Cow;
use std::time::Duration;

use channels::Emphasis;
use org::vault::{Vault, placeholder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::questions::{Answer, Kind, Wanted};

use super::too_long;
use crate::asking::{AskingTool, Inquiry, Reply};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::ToolError;

/// The longest key, in characters.
const KEY_CHARS: usize = 64;
/// The longest label, in characters.
const LABEL_CHARS: usize = 100;
/// The longest description, in characters.
const DESCRIPTION_CHARS: usize = 500;

/// Asks for a secret.
pub struct PromptSecret {
    /// Where it will be.
    pub vault: Vault,
}

/// Which secret.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptSecretArgs {
    /// The name under which the vault will have it: `UPPER_SNAKE`.
    pub key: String,
    /// What it is, for the person who has it: up to 100 characters.
    pub label: String,
    /// What it is needed for and where it is found, up to 500 characters.
    pub description: Option<String>,
}

/// What came of it. The value is no part of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SecretPrompted {
    /// Whether the vault has it now.
    pub success: bool,
    /// The key.
    pub key: String,
    /// What to write in a tool's arguments where the secret is to stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Why the vault does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn check(args: &PromptSecretArgs) -> Result<(), String> {
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let begins = args.key.starts_with(|c: char| c.is_ascii_uppercase());
    if !begins || args.key.len() > KEY_CHARS || !args.key.chars().all(upper) {
        return Err(format!(
            "`{}` is no key for a secret: up to {KEY_CHARS} of A-Z, 0-9 and _, a letter first, for example `API_KEY`",
            base::text::cut(&args.key, 80)
        ));
    }
    if args.label.trim().is_empty() {
        return Err("the label is empty: say what the secret is".to_owned());
    }
    let description = args.description.as_deref().unwrap_or_default();
    let long = too_long("label", &args.label, LABEL_CHARS);
    long.or_else(|| too_long("description", description, DESCRIPTION_CHARS)).map_or(Ok(()), Err)
}

impl AskingTool for PromptSecret {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("prompt_secret"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/prompt_secret.md")),
        domain: Domain::Human,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Control,
        ops: Ops::Org,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Admin,
    };
    type Args = PromptSecretArgs;
    type Output = SecretPrompted;

    async fn inquiry(&self, call: &Call, args: &PromptSecretArgs) -> Result<Inquiry, ToolError> {
        check(args).map_err(ToolError::Refused)?;
        let Some(conversation) = &call.origin.conversation else {
            return Err(ToolError::refused("nobody can be asked: no conversation caused this turn"));
        };
        let label = args.label.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = format!("I need a secret: **{label}**. The vault will have it as `{}`.", args.key);
        if let Some(description) = args.description.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            text.push_str(&format!("\n{description}"));
        }
        Ok(Inquiry {
            kind: Kind::Secret,
            text,
            options: vec![("Cancel".to_owned(), Emphasis::Plain)],
            places: vec![conversation.clone()],
            asker: None,
            wanted: Some(Wanted { team: call.team.clone(), key: args.key.clone() }),
            once: false,
        })
    }

    async fn answered(&self, call: &Call, args: PromptSecretArgs, reply: Reply) -> Result<SecretPrompted, ToolError> {
        let without = |reason: String| SecretPrompted {
            success: false,
            key: args.key.clone(),
            placeholder: None,
            reason: Some(reason),
        };
        match reply.answer {
            Answer::Entered { .. } => {}
            Answer::Chosen { by, .. } | Answer::Said { by, .. } => {
                return Ok(without(format!("{by} does not want to give it: go on without it")));
            }
            Answer::Nobody => return Ok(without("nobody entered it in time: go on without it".to_owned())),
        }
        // Looked up, another process's secret is known here, and is taken out of every text from now on.
        match self.vault.get(&call.team, &args.key).await? {
            Some(entry) if entry.is_secret() => {
                let placeholder = Some(placeholder(&args.key));
                Ok(SecretPrompted { success: true, key: args.key, placeholder, reason: None })
            }
            _ => Ok(without("it was entered and has been removed since".to_owned())),
        }
    }
}
