//! Every request against the published description of Discord's API.

use channels::{Action, Content, Deliver, File, FileSource, Outbound, Piece, Receive, Reply};
use fakes::discord::{Given, Request};
use serde_json::Value;

use super::bot::{Bot, button, conversation, out, piece, send};
use crate::host::PATIENCE;

/// The description: OpenAPI 3.1.
struct Published(Value);

impl Published {
    /// Checks that a request is one that is described, and its body fits.
    fn check(&self, request: &Request) -> Result<(), String> {
        let path = request.path.split('?').next().unwrap_or_default();
        let method = request.method.to_lowercase();
        let (name, operation) =
            self.operation(path, &method).ok_or_else(|| format!("{method} {path} is not described"))?;
        let content = &operation["requestBody"]["content"];
        let body = [&content["application/json"], &content["multipart/form-data"]][usize::from(request.files > 0)];
        match (&request.body, body) {
            (Value::Null, _) if operation["requestBody"]["required"] != true => Ok(()),
            (Value::Null, _) => Err(format!("{method} {name}: a body is missing")),
            (given, described) => {
                self.fits(given, &described["schema"], "").map_err(|why| format!("{method} {name}: {why}"))
            }
        }
    }

    fn operation(&self, path: &str, method: &str) -> Option<(&str, &Value)> {
        let paths = self.0["paths"].as_object().expect("paths");
        let mut matching: Vec<_> =
            paths.iter().filter(|(name, item)| is_path(name, path) && item.get(method).is_some()).collect();
        // `/users/@me` is itself before it is `/users/{user_id}`.
        matching.sort_by_key(|(name, _)| name.matches('{').count());
        matching.first().map(|(name, item)| (name.as_str(), &item[method]))
    }

    fn fits(&self, given: &Value, schema: &Value, at: &str) -> Result<(), String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').expect("a reference within the document");
            return self.fits(given, self.0.pointer(pointer).expect("a reference that leads somewhere"), at);
        }
        if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
            let faults: Vec<String> = choices.iter().filter_map(|choice| self.fits(given, choice, at).err()).collect();
            return if faults.len() < choices.len() {
                Ok(())
            } else {
                Err(format!("{at} fits none of: {}", faults.join("; ")))
            };
        }
        if let Some(all) = schema["allOf"].as_array().filter(|_| !given.is_object()) {
            all.iter().try_for_each(|part| self.fits(given, part, at))?;
        } else if let Some(all) = schema["allOf"].as_array() {
            // What one part does not know another may.
            return self.fits_object(given, &all.iter().map(|part| self.resolved(part)).collect::<Vec<_>>(), at);
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::String(one) => vec![one],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        if !types.is_empty() && !types.iter().any(|kind| is_type(given, kind)) {
            return Err(format!("{at} is {given}, not {types:?}"));
        }
        if schema.get("const").is_some_and(|constant| constant != given) {
            return Err(format!("{at} is {given}, not {}", schema["const"]));
        }
        if schema["enum"].as_array().is_some_and(|values| !values.contains(given)) {
            return Err(format!("{at} is {given}, not one of {}", schema["enum"]));
        }
        match given {
            Value::String(text) => within(text.chars().count(), schema, "minLength", "maxLength", at),
            Value::Array(items) => {
                within(items.len(), schema, "minItems", "maxItems", at)?;
                let each = |(n, item): (usize, &Value)| self.fits(item, &schema["items"], &format!("{at}[{n}]"));
                if schema["items"].is_object() { items.iter().enumerate().try_for_each(each) } else { Ok(()) }
            }
            Value::Object(_) => self.fits_object(given, &[schema], at),
            _ => Ok(()),
        }
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
            Some(pointer) => self.0.pointer(pointer).expect("a reference that leads somewhere"),
            None => schema,
        }
    }

    fn fits_object(&self, given: &Value, parts: &[&Value], at: &str) -> Result<(), String> {
        let Some(fields) = given.as_object() else { return Err(format!("{at} is {given}, not an object")) };
        for required in parts.iter().filter_map(|part| part["required"].as_array()).flatten().filter_map(Value::as_str)
        {
            if !fields.contains_key(required) {
                return Err(format!("{at}.{required} is missing"));
            }
        }
        let open =
            parts.iter().any(|part| part.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)));
        for (name, value) in fields {
            match parts.iter().find_map(|part| part["properties"].get(name)) {
                Some(schema) => self.fits(value, schema, &format!("{at}.{name}"))?,
                None if open => {}
                None => return Err(format!("{at}.{name} is not known")),
            }
        }
        Ok(())
    }
}

fn is_path(described: &str, path: &str) -> bool {
    let (described, path): (Vec<_>, Vec<_>) = (described.split('/').collect(), path.split('/').collect());
    described.len() == path.len()
        && described.iter().zip(path).all(|(part, given)| part.starts_with('{') || *part == given)
}

fn is_type(given: &Value, kind: &str) -> bool {
    match kind {
        "null" => given.is_null(),
        "boolean" => given.is_boolean(),
        "integer" => given.is_i64() || given.is_u64(),
        "number" => given.is_number(),
        "string" => given.is_string(),
        "array" => given.is_array(),
        "object" => given.is_object(),
        _ => false,
    }
}

fn within(count: usize, schema: &Value, least: &str, most: &str, at: &str) -> Result<(), String> {
    let bound = |name: &str| schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
    let fits = bound(least).is_none_or(|least| count >= least) && bound(most).is_none_or(|most| count <= most);
    if fits { Ok(()) } else { Err(format!("{at} has a length of {count}")) }
}

/// Has a bot do everything that it can do.
async fn everything(bot: &mut Bot) {
    let ann = bot.server.user("ann");
    let (dm, room) = (bot.server.dm(ann), bot.server.channel("general"));
    bot.adapter.check().await.expect("reachable");
    let asked = bot.server.say(dm, ann, "hello");
    bot.heard("hello").await;
    bot.die().await;
    bot.server.say(dm, ann, "meanwhile");
    bot.come_back().await;
    bot.heard("meanwhile").await;
    bot.server.slash(dm, ann, "trust add", &[("who", Given::User(ann))]);
    let command = bot.host.event("command", |event| matches!(event.content, Content::Command { .. })).await;
    let Content::Command { handle, .. } = command.content else { unreachable!() };
    bot.adapter.deliver(&Outbound { handle, ..send(dm, "k1", "done") }).await.expect("answered");
    let asks = Piece { buttons: button("Go", "go"), ..piece("Go?") };
    let reply = Outbound { reply_to: Some(asked.to_string()), ..out(dm, "k2", Action::Send(asks)) };
    let sent = bot.adapter.deliver(&reply).await.expect("sent");
    let click = bot.server.click(sent.message_id.parse().expect("an id"), "Go", ann);
    let seen = || bot.server.interaction(click)?.callback;
    bot.server.until(seen, PATIENCE).await.expect("acknowledged");
    bot.adapter.typing(&conversation(room)).await;
    let files = vec![File { name: "a.txt".into(), source: FileSource::Text("a".into()) }];
    let with_file = Piece { files, ..piece("file") };
    bot.adapter.deliver(&out(room, "k3", Action::Send(with_file.clone()))).await.expect("sent");
    let message_id = sent.message_id;
    bot.adapter
        .deliver(&out(dm, "k4", Action::Edit { message_id: message_id.clone(), piece: with_file }))
        .await
        .expect("edited");
    bot.adapter.find(&send(dm, "k5", "x"), 0).await.expect("read");
    bot.adapter.deliver(&out(dm, "k6", Action::Delete { message_id })).await.expect("deleted");
    bot.host.wait("the menu's mark", |host| host.cursor("discord/menu")).await;
}

#[tokio::test]
async fn every_request_is_as_published() {
    let Some(path) = fakes::testset("api/discord_openapi.json") else { return };
    let text = std::fs::read_to_string(path).expect("it can be read");
    let published = Published(serde_json::from_str(&text).expect("it is JSON"));
    let mut bot = Bot::listening().await;
    everything(&mut bot).await;
    let requests = bot.server.requests();
    let faults: Vec<String> = requests.iter().filter_map(|request| published.check(request).err()).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let kinds = |method: &str| requests.iter().filter(|request| request.method == method).count();
    let counts = ["GET", "POST", "PATCH", "PUT", "DELETE"].map(kinds);
    assert!(counts.iter().all(|count| *count > 0), "every kind of request was seen: {counts:?}");
    // The check itself can fail.
    let mut wrong =
        requests.iter().find(|r| r.method == "POST" && r.path.ends_with("/messages")).expect("a send").clone();
    wrong.body["contents"] = "x".into();
    assert!(published.check(&wrong).is_err_and(|why| why.contains("contents is not known")));
    wrong.body = serde_json::json!({ "content": 5 });
    assert!(published.check(&wrong).is_err_and(|why| why.contains(".content is 5")));
}
