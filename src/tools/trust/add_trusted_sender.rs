//! `add_trusted_sender`: trusts a person, or denies them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use org::trust::Policy;
use org::trust::change::{self, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use store::Db;

use super::words::{self, ChangeOutput, ChannelType, TrustLevel};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Trusts and denies.
pub struct AddTrustedSender {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// What the owner wrote.
    pub policy: Arc<Policy>,
}

/// Whom, where, and what is said of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddTrustedSenderArgs {
    /// The platform.
    pub channel_type: ChannelType,
    /// The platform's id of the person: digits on Discord and Telegram, not a name.
    pub sender_id: String,
    /// The platform's id of the conversation in which it holds. Left out: everywhere on the platform.
    pub channel_id: Option<String>,
    /// What is said of them.
    #[serde(default)]
    pub trust_level: TrustLevel,
}

impl Tool for AddTrustedSender {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("add_trusted_sender"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/add_trusted_sender.md")),
        domain: Domain::Trust,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Write,
        ops: Ops::Org,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Admin,
    };
    type Args = AddTrustedSenderArgs;
    type Output = ChangeOutput;

    async fn run(&self, call: &Call, args: AddTrustedSenderArgs) -> Result<ChangeOutput, ToolError> {
        let kind = args.channel_type.into();
        let change = words::change(call, kind, &args.sender_id, args.channel_id.as_deref(), self.clock.now())?;
        let change = match change {
            Ok(change) => change,
            Err(reason) => return Ok(ChangeOutput::not(reason)),
        };
        let outcome = match args.trust_level {
            TrustLevel::Trusted => {
                let grant = async |conn: &mut _| change::grant(conn, &self.policy, &change, Role::Speaker, None).await;
                self.db.tx("trust a sender", grant).await?
            }
            TrustLevel::Denied => {
                let deny = async |conn: &mut _| change::deny(conn, &self.policy, &change, None).await;
                self.db.tx("deny a sender", deny).await?
            }
        };
        Ok(outcome.into())
    }
}
