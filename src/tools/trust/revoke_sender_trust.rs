//! `revoke_sender_trust`: takes back what was said about a person.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use org::trust::Policy;
use org::trust::change;
use schemars::JsonSchema;
use serde::Deserialize;
use store::Db;

use super::words::{self, ChangeOutput, ChannelType};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Revokes.
pub struct RevokeSenderTrust {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// What the owner wrote.
    pub policy: Arc<Policy>,
}

/// Whose, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeSenderTrustArgs {
    /// The platform.
    pub channel_type: ChannelType,
    /// The platform's id of the person: digits on Discord and Telegram, not a name.
    pub sender_id: String,
    /// The platform's id of the conversation whose grant or denial is taken back. Left out: the one that holds
    /// everywhere.
    pub channel_id: Option<String>,
}

impl Tool for RevokeSenderTrust {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("revoke_sender_trust"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/revoke_sender_trust.md")),
        domain: Domain::Trust,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Write,
        ops: Ops::Org,
        // A second call would say that there is nothing to revoke, and so hide that the first one did it.
        effect: Effect::Once,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Admin,
    };
    type Args = RevokeSenderTrustArgs;
    type Output = ChangeOutput;

    async fn run(&self, call: &Call, args: RevokeSenderTrustArgs) -> Result<ChangeOutput, ToolError> {
        let kind = args.channel_type.into();
        let change = words::change(call, kind, &args.sender_id, args.channel_id.as_deref(), self.clock.now())?;
        let change = match change {
            Ok(change) => change,
            Err(reason) => return Ok(ChangeOutput::not(reason)),
        };
        let revoke = async |conn: &mut _| change::revoke(conn, &self.policy, &change).await;
        Ok(self.db.tx("revoke a sender's trust", revoke).await?.into())
    }
}
