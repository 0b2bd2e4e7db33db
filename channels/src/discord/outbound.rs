//! Our [`Outbound`] → the body of a Discord request. Pure, but for the files' bytes.

use serde_json::{Value, json};

use crate::{Button, Emphasis, File, FileSource, Piece, SendError};

/// The most buttons that one row holds (<https://discord.com/developers/docs/components/reference#action-row>).
const ROW_MAX: usize = 5;
/// The longest label of a button, in characters
/// (<https://discord.com/developers/docs/components/reference#button>).
const LABEL_MAX: usize = 80;

/// The body of a new message. The nonce makes a repeated attempt return the first message.
pub(super) fn create(piece: &Piece, key: &str, reply_to: Option<&str>) -> Value {
    let mut body = shown(piece);
    body["nonce"] = key.into();
    body["enforce_nonce"] = true.into();
    if let Some(message) = reply_to.filter(|id| is_id(id)) {
        body["message_reference"] = json!({ "message_id": message, "fail_if_not_exists": false });
    }
    body
}

/// The body of an edit: text and buttons are replaced, files only where there are new ones.
pub(super) fn edit(piece: &Piece) -> Value {
    shown(piece)
}

fn shown(piece: &Piece) -> Value {
    let mut body = json!({
        "content": piece.text,
        "components": rows(&piece.buttons),
        // Nothing a model writes may ring anybody's phone.
        "allowed_mentions": { "parse": [], "replied_user": false },
    });
    if !piece.files.is_empty() {
        let files = piece.files.iter().enumerate();
        body["attachments"] = files.map(|(id, file)| json!({ "id": id.to_string(), "filename": file.name })).collect();
    }
    body
}

fn rows(buttons: &[Vec<Button>]) -> Value {
    let rows = buttons.iter().flat_map(|row| row.chunks(ROW_MAX));
    rows.map(|row| json!({ "type": 1, "components": row.iter().map(button).collect::<Vec<_>>() })).collect()
}

fn button(button: &Button) -> Value {
    let style = match button.emphasis {
        Emphasis::Primary => 1,
        Emphasis::Plain => 2,
        Emphasis::Danger => 4,
    };
    let label: String = button.label.chars().take(LABEL_MAX).collect();
    json!({ "type": 2, "style": style, "label": label, "custom_id": button.data })
}

/// A Discord id: digits only. Ids of other events (`command:1`) name nothing that could be replied to.
pub(super) fn is_id(text: &str) -> bool {
    text.parse::<u64>().is_ok_and(|id| id > 0)
}

/// The names and bytes of a piece's files. A file that cannot be read is refused: waiting will not bring it.
pub(super) async fn load(files: &[File]) -> Result<Vec<(String, Vec<u8>)>, SendError> {
    let mut loaded = Vec::with_capacity(files.len());
    for file in files {
        let bytes = match &file.source {
            FileSource::Text(text) => text.clone().into_bytes(),
            FileSource::Path(path) => tokio::fs::read(path).await.map_err(|fault| {
                SendError::Refused(format!("the file `{}` cannot be read: {}", file.name, fault.kind()))
            })?,
        };
        loaded.push((file.name.clone(), bytes));
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(label: &str, data: &str, emphasis: Emphasis) -> Button {
        Button { label: label.into(), data: data.into(), emphasis }
    }

    #[test]
    fn a_new_message_pings_nobody_and_carries_its_key() {
        let piece = Piece { text: "hi @everyone".into(), ..Piece::default() };
        assert_eq!(
            create(&piece, "k1", Some("42")),
            json!({
                "content": "hi @everyone",
                "components": [],
                "allowed_mentions": { "parse": [], "replied_user": false },
                "nonce": "k1",
                "enforce_nonce": true,
                "message_reference": { "message_id": "42", "fail_if_not_exists": false },
            })
        );
    }

    #[test]
    fn only_messages_can_be_replied_to() {
        for reply_to in [None, Some("command:42"), Some(""), Some("0"), Some("-1")] {
            assert_eq!(create(&Piece::default(), "k", reply_to).get("message_reference"), None, "{reply_to:?}");
        }
    }

    #[test]
    fn an_edit_replaces_text_and_buttons_and_leaves_files_alone() {
        let piece = Piece {
            text: "done".into(),
            buttons: vec![vec![
                label("Go", "go", Emphasis::Primary),
                label("Stop", "stop", Emphasis::Danger),
                label("Wait", "wait", Emphasis::Plain),
            ]],
            ..Piece::default()
        };
        assert_eq!(
            edit(&piece),
            json!({
                "content": "done",
                "components": [{ "type": 1, "components": [
                    { "type": 2, "style": 1, "label": "Go", "custom_id": "go" },
                    { "type": 2, "style": 4, "label": "Stop", "custom_id": "stop" },
                    { "type": 2, "style": 2, "label": "Wait", "custom_id": "wait" },
                ] }],
                "allowed_mentions": { "parse": [], "replied_user": false },
            })
        );
    }

    #[test]
    fn rows_that_are_too_long_are_broken_and_labels_cut() {
        let row: Vec<Button> = (0..7).map(|n| label(&"é".repeat(100), &n.to_string(), Emphasis::Plain)).collect();
        let rows = rows(&[row, vec![]]);
        let lengths: Vec<usize> =
            rows.as_array().unwrap().iter().map(|row| row["components"].as_array().unwrap().len()).collect();
        assert_eq!(lengths, [5, 2], "no empty row either");
        assert_eq!(rows[0]["components"][0]["label"].as_str().unwrap().chars().count(), 80);
    }

    #[tokio::test]
    async fn files_are_announced_and_read_when_sent() {
        let files = vec![File { name: "a.txt".into(), source: FileSource::Text("text".into()) }];
        let piece = Piece { files: files.clone(), ..Piece::default() };
        assert_eq!(edit(&piece)["attachments"], json!([{ "id": "0", "filename": "a.txt" }]));
        assert_eq!(load(&files).await, Ok(vec![("a.txt".to_owned(), b"text".to_vec())]));
        let gone = [File { name: "b".into(), source: FileSource::Path("/nowhere/at/all".into()) }];
        assert!(matches!(load(&gone).await, Err(SendError::Refused(why)) if !why.contains("nowhere")));
    }
}
