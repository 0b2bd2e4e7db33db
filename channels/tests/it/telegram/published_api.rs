//! Every request against the published description of the Bot API.

use channels::{Action, Button, Deliver, File, FileSource, Piece, Receive, Reply};
use fakes::telegram::{Request, Say};
use serde_json::{Map, Value};

use super::bot::{Bot, acting, conversation, html, topic};
use crate::host::PATIENCE;

/// The description: methods and types with their fields.
struct Published(Value);

impl Published {
    /// Checks that a request names a method, has what the method requires, and nothing that it does not know.
    fn check(&self, request: &Request) -> Result<(), String> {
        let methods = self.0["methods"].as_object().expect("methods");
        let known = methods.iter().find(|(name, _)| name.eq_ignore_ascii_case(&request.method));
        let (name, method) = known.ok_or_else(|| format!("no method {}", request.method))?;
        let mut given = request.params.clone();
        for (field, _, _) in &request.files {
            // Files are named by their field, or by `attach://` from within another parameter.
            if fields(method).any(|known| known["name"] == field.as_str()) {
                given.insert(field.clone(), Value::String(format!("attach://{field}")));
            }
        }
        self.check_fields(method, &given).map_err(|why| format!("{name}: {why}"))
    }

    fn check_fields(&self, described: &Value, given: &Map<String, Value>) -> Result<(), String> {
        for field in fields(described).filter(|field| field["required"] == true) {
            let name = field["name"].as_str().expect("a name");
            if !given.contains_key(name) {
                return Err(format!("`{name}` is missing"));
            }
        }
        for (name, value) in given {
            let field = fields(described).find(|field| field["name"] == name.as_str());
            let field = field.ok_or_else(|| format!("`{name}` is not known"))?;
            let types: Vec<&str> = field["types"].as_array().expect("types").iter().filter_map(Value::as_str).collect();
            if !types.iter().any(|kind| self.fits(kind, value)) {
                return Err(format!("`{name}` is {value}, and not one of {types:?}"));
            }
        }
        Ok(())
    }

    fn fits(&self, kind: &str, value: &Value) -> bool {
        if let Some(inner) = kind.strip_prefix("Array of ") {
            return value.as_array().is_some_and(|items| items.iter().all(|item| self.fits(inner, item)));
        }
        match kind {
            "Integer" => value.is_i64() || value.is_u64(),
            "Float" => value.is_number(),
            "String" => value.is_string(),
            "Boolean" | "True" => value.is_boolean(),
            "InputFile" => value.is_string(),
            _ => {
                let described = &self.0["types"][kind];
                if let Some(subtypes) = described["subtypes"].as_array() {
                    return subtypes.iter().filter_map(Value::as_str).any(|kind| self.fits(kind, value));
                }
                value.as_object().is_some_and(|given| self.check_fields(described, given).is_ok())
            }
        }
    }
}

fn fields(described: &Value) -> impl Iterator<Item = &Value> {
    described["fields"].as_array().into_iter().flatten()
}

fn file(name: &str) -> File {
    File { name: name.into(), source: FileSource::Text("text".into()) }
}

/// Has a bot do everything that it can do.
async fn everything(bot: &Bot) {
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    let forum = bot.server.forum("Hive");
    let plans = bot.server.topic(forum, "Plans", alice);
    bot.server.set_webhook();
    let _running = bot.receives().await;
    bot.host.wait("menu", |host| host.cursor("telegram/menu")).await;
    let said = bot.server.say(chat, alice, Say::text("look").document("a.txt", "text/plain", "hello"));
    let event = bot.hears("look").await;
    let button = Button { label: "Yes".into(), data: "yes".into(), emphasis: Default::default() };
    let buttons = vec![vec![button]];
    let mut out = acting(event.conversation, Action::Send(Piece { buttons: buttons.clone(), ..html("<b>x</b>", "x") }));
    out.reply_to = Some(said.to_string());
    let sent = bot.telegram.deliver(&out).await.expect("it arrives");
    let query = bot.server.click(chat, sent.message_id.parse().expect("an id"), "Yes", alice);
    let answered = || bot.server.click_answered(&query).then_some(());
    bot.server.wait_until(PATIENCE, || "not answered".into(), answered).await;
    let edit = |message_id: &str, piece| Action::Edit { message_id: message_id.to_owned(), piece };
    let with_file = Piece { files: vec![file("a.md")], ..html("<b>a</b>", "a") };
    let two_files = Piece { files: vec![file("a.md"), file("b.md")], ..html("<b>a</b>", "a") };
    for (place, action) in [
        (topic(forum, plans), Action::Send(html("<b>x", "x"))),
        (topic(forum, plans), Action::Send(with_file.clone())),
        (conversation(forum), Action::Send(two_files)),
        (conversation(chat), edit(&sent.message_id, Piece { buttons, ..html("<i>y</i>", "y") })),
        (conversation(chat), edit(&sent.message_id, with_file)),
        (conversation(chat), edit(&sent.message_id, html("<i>z</i>", "z"))),
        (conversation(chat), Action::Delete { message_id: sent.message_id.clone() }),
    ] {
        bot.telegram.deliver(&acting(place, action)).await.expect("it is done");
    }
    bot.telegram.typing(&topic(forum, plans)).await;
    let channels::Content::Text(text) = event.content else { panic!("not a text") };
    let folder = tempfile::tempdir().expect("a temporary folder");
    bot.telegram.fetch(&text.attachments[0], &folder.path().join("a"), 100).await.expect("it is fetched");
}

#[tokio::test]
async fn every_request_is_as_the_bot_api_describes_it() {
    let Some(path) = fakes::testset("api/telegram_bot_api.json") else { return };
    let text = std::fs::read_to_string(path).expect("the description can be read");
    let published = Published(serde_json::from_str(&text).expect("the description is JSON"));
    let bot = Bot::new().await;
    everything(&bot).await;
    let requests = bot.server.requests();
    let wrong: Vec<String> = requests.iter().filter_map(|request| published.check(request).err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut methods: Vec<String> = requests.iter().map(|request| request.method.to_lowercase()).collect();
    methods.sort();
    methods.dedup();
    let used = [
        "answercallbackquery",
        "deletemessage",
        "deletewebhook",
        "editmessagecaption",
        "editmessagemedia",
        "editmessagetext",
        "getfile",
        "getme",
        "getupdates",
        "sendchataction",
        "senddocument",
        "sendmediagroup",
        "sendmessage",
        "setmycommands",
    ];
    assert_eq!(methods, used, "the check saw every method that the adapter uses");
}
