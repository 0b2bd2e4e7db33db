//! `send_message`: tells the parent or a child something.

use std::borrow::Cow;
use std::time::Duration;

use base::{Clock, Scrub};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::notes::{self, Reader};
use store::teams::{self, State};
use store::{Conn, Db};

use super::{named, text};
use crate::call::Call;
use crate::run::receipt;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Tells a team.
pub struct SendMessage {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// No message holds a secret, whatever placeholder stood in it.
    pub scrub: Scrub,
}

/// Whom, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessageArgs {
    /// Your parent, or one of your children.
    pub target: String,
    /// What to tell it. It is read at the beginning of its next turn, and wakes nobody.
    pub message: String,
}

/// What was done.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessageSent {
    /// Always true: a failure is an error.
    pub success: bool,
}

impl Tool for SendMessage {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("send_message"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/send_message.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = SendMessageArgs;
    type Output = MessageSent;

    async fn run(&self, call: &Call, args: SendMessageArgs) -> Result<MessageSent, ToolError> {
        let target = named(&args.target)?;
        let said = self.scrub.clean(text("message", &args.message)?);
        let now = self.clock.now();
        let send = async |conn: &mut Conn| {
            let found = teams::get(conn, &target).await?;
            let is_child = found.as_ref().is_some_and(|found| found.parent.as_ref() == Some(&call.team));
            let own = teams::get(conn, &call.team).await?;
            let is_parent = own.and_then(|own| own.parent).as_ref() == Some(&target);
            let Some(found) = found.filter(|_| is_child || is_parent) else {
                return Ok(Err(format!("`{target}` is neither the parent nor a child of `{}`", call.team)));
            };
            if matches!(found.state, State::Spawning | State::Closing) {
                return Ok(Err(format!("`{target}` is {}, and reads nothing", found.state.as_str())));
            }
            let topic = call.origin.topic.filter(|_| target.is_main());
            let reader = Reader { team: target.clone(), topic };
            notes::add(conn, &reader, &call.team, &said, now).await?;
            let sent = MessageSent { success: true };
            receipt::write(conn, call, &self.scrub, &sent, now).await?;
            Ok(Ok(sent))
        };
        self.db.tx("send a message to a team", send).await?.map_err(ToolError::Refused)
    }
}
