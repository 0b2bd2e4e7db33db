//! The fixed part of what a provider gets is the same bytes whoever talks, wherever, in whichever process and hive: on
//! the wire, in the provider's own order, where the tools stand before the system text.

use std::collections::BTreeSet;

use fakes::model::{Reply, Wire};
use serde_json::json;

use super::world::{KEY, PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("anthropic_gets_the_same_fixed_bytes_from_everybody_s_session", || real(same(Wire::Anthropic))),
    ("openai_gets_the_same_fixed_bytes_from_everybody_s_session", || real(same(Wire::OpenAi))),
];

/// What stands first in the part that varies.
const VARIES: &str = "## Workspace";
/// What stands in the fixed part.
const FIXED: &str = "--- System Rules ---";

async fn same(wire: Wire) {
    let (one, other) = (hive(wire).await, hive(wire).await);
    assert_eq!(one, other, "two hives send the same");
}

/// The fixed bytes of a hive in which an admin and somebody else talk, in several places, before and after a restart.
async fn hive(wire: Wire) -> String {
    let mut world = World::new().await;
    world.setup = match wire {
        Wire::Anthropic => world.setup.with_anthropic(&world.model, KEY),
        Wire::OpenAi => world.setup.with_openai(&world.model, KEY),
    }
    .file("channels.yaml", "trust: { default_policy: allow }\n");
    world.model.rule_by(|asked| {
        let wanted = asked.text == "which topics are there" && asked.results.is_empty();
        wanted.then(|| Reply::call("list_topics", &json!({})))
    });
    let other = world.telegram.user("Zebulon");
    let chat = world.telegram.private(other);
    for round in 0..2 {
        let product = world.start().await;
        let before = world.model.count();
        world.say_on_discord("which topics are there");
        world.say_on_telegram("good evening");
        world.telegram.say(chat, other, "hello from somebody else");
        // A question and an answer for each, and one more for the tool's result.
        let asked = world.model.wait_requests(before + 4, PATIENCE).await;
        asked.unwrap_or_else(|few| panic!("in round {round} {few:?}"));
        let answered = |shown: &[fakes::telegram::Shown]| shown.len() > round;
        world.telegram.wait_for(chat, PATIENCE, answered).await;
        product.stop().await;
    }
    let mut prefixes = BTreeSet::new();
    let mut seen = 0;
    for request in world.model.requests() {
        let body = String::from_utf8(request.body.to_vec()).expect("a request is text");
        if !body.contains("\"tools\":") {
            continue;
        }
        let end = body.find(VARIES).expect("a part varies");
        let (prefix, rest) = body.split_at(end);
        let (tools, text) = (prefix.find("\"tools\":"), prefix.find(FIXED));
        assert!(tools.is_some() && tools < text, "the tools stand before the system text");
        assert!(!rest.contains(FIXED), "it is not said twice");
        prefixes.insert(prefix.to_owned());
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} requests with tools");
    assert_eq!(prefixes.len(), 1, "the fixed part differs between sessions");
    let prefix = prefixes.pop_first().expect("there is one");
    let (admin, sender) = (world.discord_admin.to_string(), other.to_string());
    let folder = world.setup.run_dir().display().to_string();
    for private in [admin.as_str(), &sender, &folder, "Zebulon", KEY] {
        assert!(!prefix.contains(private), "`{private}` is in the fixed part");
    }
    prefix
}
