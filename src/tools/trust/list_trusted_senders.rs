//! `list_trusted_senders`: who was trusted or denied.

use std::borrow::Cow;
use std::time::Duration;

use base::{Clock, Moment};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Db;
use store::trust::Row;

use super::words::{ChannelType, TrustLevel};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Lists the rows about senders.
pub struct ListTrustedSenders {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
}

/// Which ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTrustedSendersArgs {
    /// Only those of this platform.
    pub channel_type: Option<ChannelType>,
    /// Only the trusted or only the denied.
    pub trust_level: Option<TrustLevel>,
}

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListTrustedSendersOutput {
    /// Always true.
    pub success: bool,
    /// The rows that hold now.
    pub senders: Vec<SenderShown>,
}

/// What was said about a sender.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SenderShown {
    /// The platform.
    pub channel_type: &'static str,
    /// The conversation in which it holds; left out where it holds everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<String>,
    /// The platform's id of the person.
    pub sender_id: String,
    /// `trusted` or `denied`.
    pub trust_level: &'static str,
    /// Whether they may manage trust.
    pub admin: bool,
    /// Who said so.
    pub granted_by: String,
    /// Since when.
    pub created_at: String,
    /// Until when; left out where it is for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

impl Tool for ListTrustedSenders {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("list_trusted_senders"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/list_trusted_senders.md")),
        domain: Domain::Trust,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ListTrustedSendersArgs;
    type Output = ListTrustedSendersOutput;

    async fn run(&self, _: &Call, args: ListTrustedSendersArgs) -> Result<ListTrustedSendersOutput, ToolError> {
        let (kind, level) = (args.channel_type.map(Into::into), args.trust_level.map(Into::into));
        let rows = self.db.read(async |conn| store::trust::list(conn, kind, level).await).await?;
        let now = self.clock.now();
        let senders = rows.into_iter().filter(|row| row.expires_at.is_none_or(|end| now < end)).map(shown).collect();
        Ok(ListTrustedSendersOutput { success: true, senders })
    }
}

fn shown(row: Row) -> SenderShown {
    let when = |moment: Moment| base::clock::show(moment);
    SenderShown {
        channel_type: row.sender.kind().as_str(),
        channel_id: row.conversation.as_ref().map(|place| place.local().to_owned()),
        sender_id: row.sender.user().to_owned(),
        trust_level: row.level.as_str(),
        admin: row.admin,
        granted_by: row.granted_by,
        created_at: when(row.created_at),
        expires_at: row.expires_at.map(when),
    }
}
