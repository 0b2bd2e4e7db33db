//! What goes out → one request of the Bot API. Pure.

use serde_json::json;
use teloxide::payloads::{
    DeleteMessage, EditMessageCaption, EditMessageCaptionSetters, EditMessageText, EditMessageTextSetters, SendMessage,
    SendMessageSetters,
};
use teloxide::types::{
    InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageId, ParseMode, ReplyMarkup, ReplyParameters,
};

use super::call::Refusal;
use super::place::Target;
use crate::{Action, Button, File, Gone, Outbound, Piece, SendError};

/// The most files in one message (sendMediaGroup).
const FILES_MAX: usize = 10;

/// One request, in the parts from which it and its simpler forms are made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub target: Target,
    pub act: Act,
    piece: Piece,
    /// Whether the text goes out with its markup.
    html: bool,
    reply_to: Option<MessageId>,
}

/// What the request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Send,
    Edit(MessageId),
    /// An edit of a message that carries a file: its text is a caption.
    EditCaption(MessageId),
    Delete(MessageId),
}

/// A request in the form in which it is sent.
#[derive(Debug)]
pub(super) enum Form {
    Send(SendMessage),
    Edit(EditMessageText),
    EditCaption(EditMessageCaption),
    Delete(DeleteMessage),
    Upload(Upload),
}

/// A request that carries files.
#[derive(Debug)]
pub(super) struct Upload {
    pub method: &'static str,
    /// Plain fields of the form.
    pub fields: Vec<(&'static str, String)>,
    /// Files and the form fields that they go in.
    pub files: Vec<(String, File)>,
}

/// Makes a request of what is to go out. The idempotency key is not used, as Telegram has no place for it, and
/// neither is the handle: clicks are answered when they are taken in.
pub(super) fn request(out: &Outbound) -> Result<Request, SendError> {
    let target = Target::of(&out.conversation)?;
    // Ids that are none name no message.
    let message = |id: &str| id.parse().map(MessageId).map_err(|_| SendError::Gone(Gone::Message));
    let (act, piece) = match &out.action {
        Action::Send(piece) => (Act::Send, piece.clone()),
        Action::Edit { message_id, piece } => (Act::Edit(message(message_id)?), piece.clone()),
        Action::Delete { message_id } => (Act::Delete(message(message_id)?), Piece::default()),
    };
    let files = piece.files.len();
    if files > FILES_MAX || (files > 1 && (act != Act::Send || !piece.buttons.is_empty())) {
        return Err(SendError::Refused(format!("{files} files do not fit in one message like this")));
    }
    let reply_to = out.reply_to.as_deref().and_then(|id| id.parse().ok()).map(MessageId);
    let html = !notifies(&piece.text);
    Ok(Request { target, act, piece, html, reply_to })
}

/// Whether a text carries a link into Telegram itself. One to a user is a mention that rings their phone, which no
/// answer of ours may do, whoever made it write that.
fn notifies(html: &str) -> bool {
    let html = html.to_ascii_lowercase();
    ["\"tg:", "'tg:", "=tg:"].iter().any(|link| html.contains(link))
}

/// A simpler request that says the same, after Telegram has refused this one for its form. `None` where there is
/// none, so that trying again ends.
pub(super) fn instead(request: &Request, refusal: &Refusal) -> Option<Request> {
    if refusal.code != 400 {
        return None;
    }
    if request.html && (refusal.says("can't parse entities") || refusal.says("entity_")) {
        return Some(Request { html: false, ..request.clone() });
    }
    let no_reply = ["message to be replied not found", "replied message not found", "message to reply not found"];
    if request.reply_to.is_some() && no_reply.iter().any(|words| refusal.says(words)) {
        return Some(Request { reply_to: None, ..request.clone() });
    }
    match request.act {
        Act::Edit(id) if refusal.says("there is no text in the message") => {
            Some(Request { act: Act::EditCaption(id), ..request.clone() })
        }
        _ => None,
    }
}

/// The message of which a refusal says that it already is as the request wants it.
pub(super) fn already_so(act: Act, refusal: &Refusal) -> Option<MessageId> {
    let (id, words) = match act {
        Act::Edit(id) | Act::EditCaption(id) => (id, ["message is not modified", "message_not_modified"]),
        Act::Delete(id) => (id, ["message to delete not found", "message_id_invalid"]),
        Act::Send => return None,
    };
    words.iter().any(|words| refusal.says(words)).then_some(id)
}

impl Request {
    /// The request as it is sent.
    pub(super) fn form(&self) -> Form {
        let chat = self.target.chat;
        match self.act {
            Act::Delete(id) => Form::Delete(DeleteMessage::new(chat, id)),
            _ if !self.piece.files.is_empty() => Form::Upload(self.upload()),
            Act::Send => Form::Send(self.send()),
            Act::Edit(id) => {
                let mut edit = EditMessageText::new(chat, id, self.text()).link_preview_options(no_preview());
                edit.parse_mode = self.parse_mode();
                // Without a keyboard an edit takes the old one away, which is what "becomes" means.
                match self.keyboard() {
                    Some(keyboard) => Form::Edit(edit.reply_markup(keyboard)),
                    None => Form::Edit(edit),
                }
            }
            Act::EditCaption(id) => {
                let mut edit = EditMessageCaption::new(chat, id).caption(self.text());
                edit.parse_mode = self.parse_mode();
                edit.reply_markup = self.keyboard();
                Form::EditCaption(edit)
            }
        }
    }

    fn send(&self) -> SendMessage {
        let mut send = SendMessage::new(self.target.chat, self.text()).link_preview_options(no_preview());
        send.message_thread_id = self.target.thread;
        send.parse_mode = self.parse_mode();
        send.reply_parameters = self.reply();
        send.reply_markup = self.keyboard().map(ReplyMarkup::InlineKeyboard);
        send
    }

    fn upload(&self) -> Upload {
        let mut fields = vec![("chat_id", self.target.chat.0.to_string())];
        let mut described = json!({"type": "document"});
        if !self.text().is_empty() {
            described["caption"] = json!(self.text());
            if self.html {
                described["parse_mode"] = json!("HTML");
            }
        }
        let named =
            |number: usize| if self.piece.files.len() == 1 { "document".to_owned() } else { format!("file{number}") };
        let files = self.piece.files.iter().cloned().enumerate().map(|(number, file)| (named(number), file)).collect();
        let method = match self.act {
            Act::Edit(id) | Act::EditCaption(id) | Act::Delete(id) => {
                described["media"] = json!("attach://document");
                fields.push(("message_id", id.0.to_string()));
                fields.push(("media", described.to_string()));
                "EditMessageMedia"
            }
            Act::Send if self.piece.files.len() == 1 => {
                for key in ["caption", "parse_mode"] {
                    fields.extend(described[key].as_str().map(|value| (key, value.to_owned())));
                }
                "SendDocument"
            }
            Act::Send => {
                // The text stands under the last file, where people look for it.
                let mut media: Vec<_> = (0..self.piece.files.len()).map(|_| json!({"type": "document"})).collect();
                media.pop();
                media.push(described);
                for (number, document) in media.iter_mut().enumerate() {
                    document["media"] = json!(format!("attach://{}", named(number)));
                }
                fields.push(("media", json!(media).to_string()));
                "SendMediaGroup"
            }
        };
        if self.act == Act::Send {
            fields.extend(self.target.thread.map(|thread| ("message_thread_id", thread.0.0.to_string())));
            fields.extend(self.reply().map(|reply| ("reply_parameters", json!(reply).to_string())));
        }
        fields.extend(self.keyboard().map(|keyboard| ("reply_markup", json!(keyboard).to_string())));
        Upload { method, fields, files }
    }

    fn text(&self) -> &str {
        if self.html { &self.piece.text } else { &self.piece.plain }
    }

    fn parse_mode(&self) -> Option<ParseMode> {
        self.html.then_some(ParseMode::Html)
    }

    /// A reply is a reply only while the message is there; the answer matters more.
    fn reply(&self) -> Option<ReplyParameters> {
        Some(ReplyParameters::new(self.reply_to?).allow_sending_without_reply())
    }

    fn keyboard(&self) -> Option<InlineKeyboardMarkup> {
        let button = |button: &Button| InlineKeyboardButton::callback(button.label.clone(), button.data.clone());
        let rows = self.piece.buttons.iter().filter(|row| !row.is_empty());
        let rows: Vec<Vec<_>> = rows.map(|row| row.iter().map(button).collect()).collect();
        (!rows.is_empty()).then(|| InlineKeyboardMarkup::new(rows))
    }
}

/// An answer with a link in it is an answer, not an advertisement for the link.
fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Emphasis, FileSource};

    fn out(action: Action) -> Outbound {
        let conversation = "telegram:-1001/7".parse().unwrap();
        Outbound { conversation, key: "k".to_owned(), action, reply_to: Some("5".to_owned()), handle: None }
    }

    fn piece() -> Piece {
        let button = Button { label: "Yes".to_owned(), data: "y".to_owned(), emphasis: Emphasis::Plain };
        Piece { text: "<b>x</b>".into(), plain: "x".into(), buttons: vec![vec![button], vec![]], files: Vec::new() }
    }

    fn file(name: &str) -> File {
        File { name: name.to_owned(), source: FileSource::Text("t".to_owned()) }
    }

    fn refusal(description: &str) -> Refusal {
        Refusal { code: 400, description: description.to_owned(), retry_after: None, moved_to: None }
    }

    fn json(request: &Request) -> serde_json::Value {
        match request.form() {
            Form::Send(payload) => json!(payload),
            Form::Edit(payload) => json!(payload),
            Form::EditCaption(payload) => json!(payload),
            Form::Delete(payload) => json!(payload),
            Form::Upload(upload) => {
                let fields: serde_json::Map<_, _> =
                    upload.fields.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
                let files: Vec<_> = upload.files.into_iter().map(|(field, file)| (field, file.name)).collect();
                json!({"method": upload.method, "fields": fields, "files": files})
            }
        }
    }

    #[test]
    fn a_piece_becomes_the_whole_request() {
        let keyboard = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]});
        let reply = json!({"message_id": 5, "allow_sending_without_reply": true});
        assert_eq!(
            json(&request(&out(Action::Send(piece()))).unwrap()),
            json!({
                "chat_id": -1001, "message_thread_id": 7, "text": "<b>x</b>", "parse_mode": "HTML",
                "link_preview_options": {"is_disabled": true}, "reply_parameters": reply, "reply_markup": keyboard,
            })
        );
        let edit = Action::Edit { message_id: "9".to_owned(), piece: piece() };
        assert_eq!(
            json(&request(&out(edit)).unwrap()),
            json!({
                "chat_id": -1001, "message_id": 9, "text": "<b>x</b>", "parse_mode": "HTML",
                "link_preview_options": {"is_disabled": true}, "reply_markup": keyboard,
            })
        );
        let delete = Action::Delete { message_id: "9".to_owned() };
        assert_eq!(json(&request(&out(delete)).unwrap()), json!({"chat_id": -1001, "message_id": 9}));
    }

    #[test]
    fn files_go_as_one_form() {
        let one = Piece { buttons: Vec::new(), files: vec![file("a.md")], ..piece() };
        let sent = json(&request(&out(Action::Send(one.clone()))).unwrap());
        assert_eq!((&sent["method"], &sent["files"]), (&json!("SendDocument"), &json!([["document", "a.md"]])));
        assert_eq!((&sent["fields"]["caption"], &sent["fields"]["parse_mode"]), (&json!("<b>x</b>"), &json!("HTML")));
        let edited = json(&request(&out(Action::Edit { message_id: "9".to_owned(), piece: one })).unwrap());
        assert_eq!((&edited["method"], &edited["fields"]["message_id"]), (&json!("EditMessageMedia"), &json!("9")));
        let two = Piece { buttons: Vec::new(), files: vec![file("a.md"), file("b.md")], ..piece() };
        let sent = json(&request(&out(Action::Send(two))).unwrap());
        let media = r#"[{"media":"attach://file0","type":"document"},{"caption":"<b>x</b>","media":"attach://file1","parse_mode":"HTML","type":"document"}]"#;
        assert_eq!((&sent["method"], &sent["fields"]["media"]), (&json!("SendMediaGroup"), &json!(media)));
        let many = Piece { files: vec![file("x"); 11], ..Piece::default() };
        assert!(matches!(request(&out(Action::Send(many))), Err(SendError::Refused(_))));
    }

    #[test]
    fn a_refused_form_is_made_simpler_and_never_twice_in_the_same_way() {
        let first = request(&out(Action::Send(piece()))).unwrap();
        let markup = refusal("Bad Request: can't parse entities: Unsupported start tag");
        let plain = instead(&first, &markup).unwrap();
        assert_eq!((&json(&plain)["text"], json(&plain).get("parse_mode")), (&json!("x"), None));
        assert_eq!(instead(&plain, &markup), None);
        let reply = refusal("Bad Request: message to be replied not found");
        let unbound = instead(&plain, &reply).unwrap();
        assert_eq!(json(&unbound).get("reply_parameters"), None);
        assert_eq!(instead(&unbound, &reply), None);
        let edit = request(&out(Action::Edit { message_id: "9".to_owned(), piece: piece() })).unwrap();
        let caption = instead(&edit, &refusal("Bad Request: there is no text in the message to edit")).unwrap();
        assert_eq!(json(&caption)["caption"], "<b>x</b>");
        assert_eq!(instead(&first, &Refusal { code: 403, ..markup }), None);
    }

    #[test]
    fn a_link_to_a_user_costs_the_text_its_markup() {
        for link in ["\"tg://user?id=5\"", "'TG://user?id=5'", "tg://user?id=5"] {
            let text = format!("<a href={link}>x</a>");
            let piece = Piece { text, plain: "x".to_owned(), ..Piece::default() };
            let sent = json(&request(&out(Action::Send(piece))).unwrap());
            assert_eq!((&sent["text"], sent.get("parse_mode")), (&json!("x"), None), "{link}");
        }
    }

    #[test]
    fn what_is_already_so_is_no_error() {
        let id = MessageId(9);
        assert_eq!(already_so(Act::Edit(id), &refusal("Bad Request: message is not modified: …")), Some(id));
        assert_eq!(already_so(Act::Delete(id), &refusal("Bad Request: message to delete not found")), Some(id));
        assert_eq!(already_so(Act::Edit(id), &refusal("Bad Request: message to edit not found")), None);
        assert_eq!(already_so(Act::Send, &refusal("Bad Request: message is not modified")), None);
    }

    #[test]
    fn an_id_that_is_none_names_no_message() {
        let edit = Action::Edit { message_id: "x".to_owned(), piece: piece() };
        assert_eq!(request(&out(edit)), Err(SendError::Gone(Gone::Message)));
        let mut send = out(Action::Send(piece()));
        send.reply_to = Some("x".to_owned());
        assert_eq!(json(&request(&send).unwrap()).get("reply_parameters"), None);
    }
}
