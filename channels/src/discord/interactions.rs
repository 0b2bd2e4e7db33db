//! Slash commands and clicks: taken in, and only then acknowledged, within the 3 seconds that Discord gives.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use serenity::http::{LightMethod, Route};
use serenity::model::application::Interaction;
use serenity::model::channel::PartialChannel;
use serenity::model::id::{ApplicationId, ChannelId, InteractionId};
use tokio::sync::Notify;

use super::errors::Fault;
use super::places::Room;
use super::rest::Call;
use super::{Discord, inbound};
use crate::{Closed, Content, Inbound, Intake, Place};

/// "I am at work, the answer follows as an edit of this one"
/// (<https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object>).
const DEFERRED_ANSWER: u8 = 5;
/// "I have seen the click; the message with the button stays as it is."
const DEFERRED_UPDATE: u8 = 6;
/// How long an answer waits for its deferral to arrive, which it would otherwise overtake.
const DEFERRAL_LIMIT: Duration = Duration::from_secs(5);
/// Between attempts to register the menu while Discord does not answer: at first, and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Interactions that are taken in and not yet acknowledged, by the token of their handle.
#[derive(Debug, Default)]
pub(super) struct Deferrals {
    open: Mutex<HashSet<String>>,
    closed: Notify,
}

impl Deferrals {
    /// Marks `token` as open until the guard is dropped.
    fn begin(&self, token: String) -> impl Drop + '_ {
        struct Open<'a>(&'a Deferrals, String);
        impl Drop for Open<'_> {
            fn drop(&mut self) {
                self.0.open.lock().expect("never panics while held").remove(&self.1);
                self.0.closed.notify_waiters();
            }
        }
        self.open.lock().expect("never panics while held").insert(token.clone());
        Open(self, token)
    }

    /// Waits until `token` is not open, but not for ever.
    pub(super) async fn settled(&self, token: &str) {
        let settled = async {
            loop {
                let closed = self.closed.notified();
                tokio::pin!(closed);
                // Listens from here on, so that what closes while we look is not missed.
                closed.as_mut().enable();
                if !self.open.lock().expect("never panics while held").contains(token) {
                    return;
                }
                closed.await;
            }
        };
        if tokio::time::timeout(DEFERRAL_LIMIT, settled).await.is_err() {
            tracing::debug!("discord: an answer goes out before its interaction was acknowledged");
        }
    }
}

impl Discord {
    /// Takes one interaction in and acknowledges it.
    pub(super) async fn take_interaction(&self, intake: &dyn Intake, interaction: &Interaction) -> Result<(), Closed> {
        let (event, id, token, kind) = match interaction {
            Interaction::Command(command) => {
                let place =
                    self.place_of(command.guild_id.is_none(), command.channel.as_ref(), command.channel_id).await;
                (inbound::command(command, place), command.id, &command.token, DEFERRED_ANSWER)
            }
            Interaction::Component(click) => {
                let place = self.place_of(click.guild_id.is_none(), click.channel.as_ref(), click.channel_id).await;
                (inbound::click(click, place), click.id, &click.token, DEFERRED_UPDATE)
            }
            _ => return Ok(()),
        };
        let Some(event) = event else { return Ok(()) };
        // The host may answer as soon as it has the event: from before that, the answer waits for us.
        let _open = handle_token(&event).map(|token| self.deferrals.begin(token));
        intake.take(vec![event], None).await?;
        if let Err(fault) = self.acknowledge(id, token, kind).await {
            // The person sees "did not respond"; the answer still comes, as an ordinary message.
            tracing::warn!(?fault, "discord: an interaction could not be acknowledged");
        }
        Ok(())
    }

    async fn acknowledge(&self, id: InteractionId, token: &str, kind: u8) -> Result<Value, Fault> {
        let route = Route::InteractionResponse { interaction_id: id, token };
        self.rest.call(Call::new(LightMethod::Post, route).body(json!({ "type": kind }))).await
    }

    /// Where an interaction happened: it says so itself, but for a direct conversation.
    async fn place_of(&self, direct: bool, channel: Option<&PartialChannel>, id: ChannelId) -> Place {
        match channel {
            _ if direct => Place::Direct,
            Some(channel) => {
                let room = Room::of_partial(channel);
                let place = room.place();
                self.places().put(id.get(), room);
                place
            }
            None => self.room_or_guess(id.get()).await.place(),
        }
    }

    /// Replaces the commands of the application, however long that takes. `false` where Discord refuses them.
    pub(super) async fn register(&self, application: u64, body: &Value) -> bool {
        let (mut patience, most) = PATIENCE;
        loop {
            let route = Route::Commands { application_id: ApplicationId::new(application) };
            let fault = match self.aside(Call::new(LightMethod::Put, route).body(body.clone())).await {
                Ok(_) => return true,
                Err(fault) => fault,
            };
            let Some(wait) = fault.passing() else {
                tracing::warn!(?fault, "discord: the slash commands were not accepted");
                return false;
            };
            if matches!(fault, Fault::Limited { .. }) {
                tokio::time::sleep(wait).await;
            } else {
                tokio::time::sleep(patience).await;
                patience = (patience * 2).min(most);
            }
        }
    }
}

fn handle_token(event: &Inbound) -> Option<String> {
    match &event.content {
        Content::Command { handle: Some(handle), .. } => Some(handle.token.clone()),
        _ => None,
    }
}
