//! The way out: one [`Outbound`], one request, made when its turn has come.

use serde_json::Value;
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ApplicationId, ChannelId, MessageId};

use super::errors::Fault;
use super::rest::Call;
use super::{Discord, handle, history, outbound, snowflake};
use crate::{Action, ConversationId, Gone, Kind, Outbound, Piece, SendError, Sent};

/// How far Discord's clock and ours may be apart when a message is looked for by its time.
const CLOCK_SKEW_MS: i64 = 2_000;

/// Sends, edits or deletes.
pub(super) async fn deliver(discord: &Discord, out: &Outbound) -> Result<Sent, SendError> {
    let channel_id = discord.channel_for(&out.conversation).await?;
    match &out.action {
        Action::Send(piece) => send(discord, out, channel_id, piece).await,
        Action::Edit { message_id, piece } => {
            let route = Route::ChannelMessage { channel_id, message_id: message_of(message_id)? };
            let call = Call::new(LightMethod::Patch, route)
                .body(outbound::edit(piece))
                .files(outbound::load(&piece.files).await?);
            discord.paced(&out.conversation, call).await?;
            Ok(Sent { message_id: message_id.clone() })
        }
        Action::Delete { message_id } => {
            let route = Route::ChannelMessage { channel_id, message_id: message_of(message_id)? };
            match discord.paced(&out.conversation, Call::new(LightMethod::Delete, route)).await {
                // Gone is what was wanted.
                Ok(_) | Err(SendError::Gone(Gone::Message)) => Ok(Sent { message_id: message_id.clone() }),
                Err(fault) => Err(fault),
            }
        }
    }
}

/// A new message: as the answer to its interaction while that can be answered, else as an ordinary one.
async fn send(discord: &Discord, out: &Outbound, channel_id: ChannelId, piece: &Piece) -> Result<Sent, SendError> {
    let files = outbound::load(&piece.files).await?;
    if let Some(open) = out.handle.as_ref().filter(|open| handle::open(open, snowflake::now_ms()).is_some()) {
        discord.deferrals.settled(&open.token).await;
        if let Some((application, token)) = handle::open(open, snowflake::now_ms()) {
            let application_id = ApplicationId::new(application);
            let route = Route::WebhookOriginalInteractionResponse { application_id, token };
            let call = Call::new(LightMethod::Patch, route).body(outbound::edit(piece)).files(files.clone());
            match discord.paced(&out.conversation, call).await {
                // Expired, never acknowledged, or its message was deleted: the answer is still owed.
                Err(SendError::Gone(Gone::Interaction | Gone::Message | Gone::Conversation)) => {}
                done => return sent(done?),
            }
        }
    }
    let body = outbound::create(piece, &out.key, out.reply_to.as_deref());
    let call = Call::new(LightMethod::Post, Route::ChannelMessages { channel_id }).body(body).files(files);
    sent(discord.paced(&out.conversation, call).await?)
}

/// Reads the channel back for a message of ours that is what `out` would have sent.
pub(super) async fn find(discord: &Discord, out: &Outbound, since_ms: i64) -> Result<Option<Sent>, SendError> {
    let Action::Send(piece) = &out.action else { return Ok(None) };
    let channel = discord.channel_for(&out.conversation).await?;
    // Reading changes nothing: an answer that never came is only worth another attempt.
    let transient = |fault: Fault| match SendError::from(fault) {
        SendError::Ambiguous(why) => SendError::Transient(why),
        other => other,
    };
    let us = &discord.me().await.map_err(transient)?.id;
    let page = history::newest(discord, channel.get()).await.map_err(transient)?;
    let ours = page.iter().filter(|message| message["author"]["id"].as_str() == Some(us.as_str()));
    let found = ours.filter(|message| is_it(message, piece, &out.key, since_ms)).map(history::id_of).min();
    Ok(found.map(|id| Sent { message_id: id.to_string() }))
}

/// The nonce decides where Discord shows it; else what the message shows, and when it was sent.
fn is_it(message: &Value, piece: &Piece, key: &str, since_ms: i64) -> bool {
    let at_ms = snowflake::made_at_ms(history::id_of(message));
    match &message["nonce"] {
        Value::String(nonce) => nonce == key,
        Value::Number(nonce) => nonce.to_string() == key,
        _ => {
            let named = message["attachments"].as_array().into_iter().flatten().map(|file| file["filename"].as_str());
            at_ms >= since_ms - CLOCK_SKEW_MS
                // Discord cuts white space off both ends.
                && message["content"].as_str().unwrap_or_default().trim() == piece.text.trim()
                && named.eq(piece.files.iter().map(|file| Some(file.name.as_str())))
        }
    }
}

impl Discord {
    /// Performs a request whose conversation's turn has come ([`crate::Deliver::ready`]); a 429 holds what it says.
    async fn paced(&self, conversation: &ConversationId, call: Call<'_>) -> Result<Value, SendError> {
        let done = self.rest.call(call).await;
        if let Err(Fault::Limited { retry_after, everything }) = &done {
            self.pace.freeze((!everything).then_some(conversation), *retry_after);
        }
        Ok(done?)
    }
}

impl Discord {
    /// The channel that a conversation is. `discord:@42` is the direct channel of the user 42, which Discord opens,
    /// or names if it is open, as often as it is asked.
    async fn channel_for(&self, conversation: &ConversationId) -> Result<ChannelId, SendError> {
        let Some(user) = conversation.local().strip_prefix('@') else { return channel_of(conversation) };
        let user = user.parse::<u64>().ok().filter(|user| *user > 0);
        let user = user.ok_or_else(|| SendError::Refused(format!("{conversation} is no user of Discord")))?;
        if let Some(known) = self.places().direct_of(user) {
            return Ok(ChannelId::new(known));
        }
        let body = serde_json::json!({ "recipient_id": user.to_string() });
        let call = Call::new(LightMethod::Post, Route::UserMeDmChannels).body(body);
        // Asking twice opens one channel: an answer that never came is only worth another attempt.
        let answer = self.aside(call).await.map_err(|fault| match SendError::from(fault) {
            SendError::Ambiguous(why) => SendError::Transient(why),
            other => other,
        })?;
        match history::id_of(&answer) {
            0 => Err(SendError::Transient("Discord opened no direct channel".to_owned())),
            channel => {
                self.places().set_direct(user, channel);
                Ok(ChannelId::new(channel))
            }
        }
    }
}

/// The id in Discord's answer. Sent without one it is somewhere: to be looked for, not to be sent again.
fn sent(answer: Value) -> Result<Sent, SendError> {
    match history::id_of(&answer) {
        0 => Err(SendError::Ambiguous("the answer names no message".to_owned())),
        id => Ok(Sent { message_id: id.to_string() }),
    }
}

/// The channel that a conversation is.
pub(super) fn channel_of(conversation: &ConversationId) -> Result<ChannelId, SendError> {
    let id = conversation.local().parse().ok().filter(|id: &u64| *id > 0 && conversation.kind() == Kind::Discord);
    id.map(ChannelId::new).ok_or_else(|| SendError::Refused(format!("{conversation} is no channel of Discord")))
}

fn message_of(id: &str) -> Result<MessageId, SendError> {
    let id = id.parse().ok().filter(|id: &u64| *id > 0);
    id.map(MessageId::new).ok_or_else(|| SendError::Refused("no id of a message of Discord".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{File, FileSource};

    const SENT_MS: i64 = 1_700_000_000_000;

    fn message(text: &str) -> Value {
        json!({ "id": snowflake::first_of_ms(SENT_MS).to_string(), "content": text, "attachments": [] })
    }

    #[test]
    fn a_message_is_found_by_its_nonce_else_by_what_it_shows_and_when() {
        let piece = |text: &str| Piece { text: text.into(), ..Piece::default() };
        assert!(is_it(&message("hi"), &piece(" hi\n"), "k", SENT_MS));
        assert!(is_it(&message("hi"), &piece("hi"), "k", SENT_MS + CLOCK_SKEW_MS), "clocks differ a little");
        assert!(
            !is_it(&message("hi"), &piece("hi"), "k", SENT_MS + CLOCK_SKEW_MS + 1),
            "an older one of the same text"
        );
        assert!(!is_it(&message("hi"), &piece("ho"), "k", SENT_MS));
        let mut with_nonce = message("hi");
        with_nonce["nonce"] = "other".into();
        assert!(!is_it(&with_nonce, &piece("hi"), "k", SENT_MS), "another message of the same text");
        with_nonce["nonce"] = "k".into();
        assert!(is_it(&with_nonce, &piece("hi"), "k", SENT_MS));
        let file = File { name: "a.txt".into(), source: FileSource::Text(String::new()) };
        let with_file = Piece { files: vec![file], ..piece("hi") };
        assert!(!is_it(&message("hi"), &with_file, "k", SENT_MS), "the file is not there");
        let mut shown = message("hi");
        shown["attachments"] = json!([{ "filename": "a.txt" }]);
        assert!(is_it(&shown, &with_file, "k", SENT_MS));
        assert!(!is_it(&shown, &piece("hi"), "k", SENT_MS));
    }

    #[test]
    fn only_ids_of_discord_are_channels() {
        for bad in ["discord:general", "discord:0", "telegram:5", "discord:-1"] {
            let conversation: ConversationId = bad.parse().unwrap();
            assert!(matches!(channel_of(&conversation), Err(SendError::Refused(_))), "{bad}");
        }
        assert_eq!(channel_of(&"discord:5".parse().unwrap()), Ok(ChannelId::new(5)));
    }
}
