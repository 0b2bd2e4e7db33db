//! Sessions that are asked side by side send the same bytes up to what each is told: a provider that keeps what it has
//! read before reads the rest of it once for all of them.

use fakes::model::Reply;
use serde_json::json;

use super::world::{PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] =
    &[("siblings_send_the_same_bytes_up_to_what_each_is_told", || real(siblings_send_the_same()))];

/// What each of them is told.
const PIECES: [&str; 3] = ["look at the first piece", "look at the other piece", "look at the third piece"];

async fn siblings_send_the_same() {
    let world = World::with_anthropic().await;
    world.model.rule_by(|asked| {
        let first = asked.results.is_empty();
        Some(match asked.text.as_str() {
            "make a team" if first => {
                Reply::call("spawn_team", &json!({"name": "ops", "description": "Works.", "scope_accepts": ["work"]}))
            }
            "have it work" if first => Reply::call("delegate_parallel", &json!({"assignee": "ops", "tasks": PIECES})),
            "make a team" => Reply::text("It is being made."),
            "have it work" => Reply::text("It has worked."),
            text if PIECES.contains(&text) => Reply::text("A piece is done."),
            _ => Reply::text("Ready."),
        })
    });
    let product = world.start().await;
    let shows = async |texts: &[&str]| {
        let all = |shown: &[fakes::discord::Shown]| texts.iter().all(|text| shown.iter().any(|it| it.text == *text));
        world.discord.wait_for(world.discord_dm, all, PATIENCE).await;
    };
    world.say_on_discord("make a team");
    shows(&["It is being made.", "[ops] Team bootstrapped and ready."]).await;
    world.say_on_discord("have it work");
    shows(&["It has worked."]).await;
    product.stop().await;

    let bodies = world.model.requests().into_iter().map(|request| String::from_utf8(request.body.to_vec()));
    let bodies: Vec<String> = bodies.map(|body| body.expect("a request is text")).collect();
    let of = |piece: &str| -> Vec<&String> {
        // Of the main agent's own requests the one that follows has all of them.
        bodies.iter().filter(|body| PIECES.iter().all(|other| body.contains(other) == (*other == piece))).collect()
    };
    let mut without = Vec::new();
    for piece in PIECES {
        let [request] = of(piece)[..] else { panic!("{} requests for: {piece}", of(piece).len()) };
        let (before, after) = request.split_once(piece).expect("it is told");
        assert!(before.contains("\"tools\":") && before.contains("This is the team `ops`"), "{before}");
        assert!(!before.contains("have it work"), "it knows nothing of the caller's talk");
        without.push((before, after));
    }
    assert!(without.iter().all(|sibling| *sibling == without[0]), "siblings differ in more than what they are told");
}
