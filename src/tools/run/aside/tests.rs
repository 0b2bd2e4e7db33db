//! Credentials of every shape that a model may give them: what may be taken is kept, and no value stands anywhere.

use base::{Secret, TeamName};
use org::trust::Policy;
use serde_json::{Value, json};
use store::tasks::End;
use store::{Conn, runs};

use super::*;
use crate::Call;
use crate::testing::{World, asked};

/// A value that nothing else holds.
const SECRET: &str = "s3cret-4711-0815";

/// Asks for a call as a session does: put aside, written down, run.
async fn ask(world: &World, step: i64, mut wanted: Asked) -> (Asked, crate::Done) {
    let executor = world.executor_of(world.catalogue(Policy::default()));
    let call = Call { step, ..world.call() };
    executor.put_aside(&call.team, call.run, step, &mut wanted).await.unwrap();
    let done = executor.run_calls(&call, vec![wanted.clone()]).await.unwrap().remove(0);
    (wanted, done)
}

fn in_no_row(world: &World, secret: &str, what: &str) {
    for file in ["openhive.db", "openhive.db-wal"] {
        let bytes = std::fs::read(world.folder.path().join(file)).unwrap();
        assert!(!bytes.windows(secret.len()).any(|at| at == secret.as_bytes()), "{what}: {file}");
    }
}

async fn kept(world: &World, team: &str, key: &str) -> Value {
    world.vault.expand(&team.parse().unwrap(), json!(placeholder(key))).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_may_be_a_credential_is_kept_and_stands_nowhere() {
    for (given, secret, expected) in [
        (json!(SECRET), SECRET, SECRET),
        (json!("12"), "\"12\"", "12"),
        (json!(87_654_321), "87654321", "87654321"),
        (json!(-87_654_321_i64), "87654321", "-87654321"),
        (json!("pa{{ss-word-99"), "pa{{ss-word-99", "pa{{ss-word-99"),
        (json!("{{secret}}-word-99"), "{{secret}}-word-99", "{{secret}}-word-99"),
    ] {
        let world = World::new().await;
        let input = json!({"name": "shop", "credentials": {"K": given}});
        let (written, done) = ask(&world, 1, asked("c", "spawn_team", input)).await;
        assert!(!done.is_error, "{secret}: {}", done.content);
        let written = format!("{written:?} {} {:?}", done.content, world.rows().await);
        assert!(!written.contains(secret), "{written}");
        if secret.len() > 4 {
            in_no_row(&world, secret, "a credential");
        }
        assert_eq!(kept(&world, "shop", "K").await, json!(expected));
        assert!(world.vault.list(&TeamName::main(), "").await.unwrap().is_empty(), "it has gone on");
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_of_another_shape_are_refused_and_stand_nowhere() {
    let (text, list) = (format!("K={SECRET}"), json!([{"key": "API_KEY", "value": SECRET}, [SECRET]]));
    let whole = |credentials: Value| Ok(json!({"name": "shop", "credentials": credentials}));
    for (wire_name, input, secret) in [
        ("spawn_team", whole(json!(text)), SECRET),
        ("spawn_team", whole(json!(json!({"K": SECRET}).to_string())), SECRET),
        ("spawn_team", whole(list), SECRET),
        ("spawn_team", whole(json!(87_654_321)), "87654321"),
        ("spawn_team", whole(json!({"aws": {"id": 87_654_321, "key": ["x", 87_654_321]}})), "87654321"),
        ("spawn_team", whole(json!({"K": 8765.4321})), "8765.4321"),
        ("spawn_team", whole(json!({"K": [SECRET], "L": null})), SECRET),
        ("spawn_team", Ok(json!({"name": "shop", "secrets": {"K": SECRET}})), SECRET),
        ("spawn_team", Ok(json!({"name": "shop", "config": {"credentials": {"K": SECRET}}})), SECRET),
        ("spawn_team", Ok(json!({"name": "shop", "init_context": SECRET, "credentials": [SECRET]})), SECRET),
        ("spawn_team", Ok(json!(["shop", SECRET])), SECRET),
        ("spawn_team", Ok(json!(text)), SECRET),
        ("spawn_team", Err(format!("{{\"name\": \"shop\", \"credentials\": {{\"K\": \"{SECRET}")), SECRET),
        ("update_team", Ok(json!({"team": "ops", "credentials": {"K": SECRET}})), SECRET),
        ("spawn_a_team", Ok(json!({"credentials": {"K": SECRET}})), SECRET),
    ] {
        let world = World::new().await;
        let what = format!("{wire_name} {input:?}");
        let (written, done) = ask(&world, 1, Asked { input, ..asked("c", wire_name, json!({})) }).await;
        assert!(done.is_error, "{what}: {}", done.content);
        let rows = world.rows().await;
        let written = format!("{written:?} {} {rows:?}", done.content);
        assert!(!written.contains(secret) && written.contains(REDACTED), "{what}: {written}");
        assert_eq!(rows.len(), 1);
        in_no_row(&world, secret, &what);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_secret_is_written_down_as_it_is() {
    for (wire_name, input) in [
        ("spawn_team", json!({"name": "x", "description": "Runs", "credentials": {"A": "{{secret:NOPE}}", "B": ""}})),
        ("list_topics", json!({"state": "active", "nothing": [1, "two"]})),
        ("no_such_tool", json!({"name": 5})),
    ] {
        let world = World::new().await;
        let (written, _) = ask(&world, 1, asked("c", wire_name, input.clone())).await;
        assert_eq!(written.input, Ok(input));
    }
    // The names of secrets are not taken out of what is said later.
    let world = World::new().await;
    let credentials = json!([{"key": "API_TOKEN", "region": "production", "value": SECRET}]);
    ask(&world, 1, asked("c", "spawn_team", json!({"name": "x", "credentials": credentials}))).await;
    assert_eq!(world.scrub.clean(&format!("API_TOKEN {SECRET} production")), "API_TOKEN [REDACTED] production");
}

#[tokio::test(start_paused = true)]
async fn what_was_not_used_may_be_used_again_until_the_turn_ends() {
    let world = World::new().await;
    let credentials = json!({"K": SECRET});
    let bad = json!({"name": "Not A Name", "credentials": credentials});
    let (written, done) = ask(&world, 1, asked("c", "spawn_team", bad)).await;
    assert!(done.is_error, "{}", done.content);
    let placeholder = written.input.unwrap()["credentials"]["K"].clone();
    let again = json!({"name": "shop", "credentials": {"K": placeholder}});
    let (_, done) = ask(&world, 2, asked("c", "spawn_team", again.clone())).await;
    assert!(!done.is_error, "{}", done.content);
    assert_eq!(kept(&world, "shop", "K").await, json!(SECRET));
    let (main, run) = (TeamName::main(), world.run);
    assert_eq!(world.vault.list(&main, "").await.unwrap().len(), 1, "the first call has not used it");
    let end = async |conn: &mut Conn| runs::finish(conn, runs::Run { id: run, steps: 2 }, End::Done, "", 9).await;
    assert!(world.db.tx("end the turn", end).await.unwrap());
    assert!(world.vault.list(&main, "").await.unwrap().is_empty());
    let (_, done) =
        ask(&world, 3, asked("c", "spawn_team", json!({"name": "other", "credentials": again["credentials"]}))).await;
    assert!(done.is_error && done.content.contains("there is no secret"), "{}", done.content);
}

#[tokio::test(start_paused = true)]
async fn what_the_vault_does_not_take_is_blacked_out() {
    let world = World::new().await;
    let long = SECRET.repeat(10_000);
    let (written, done) =
        ask(&world, 1, asked("c", "spawn_team", json!({"name": "x", "credentials": {"K": long}}))).await;
    assert_eq!(written.input.unwrap()["credentials"]["K"], REDACTED);
    assert!(done.is_error && done.content.contains("`K` is not known any more"), "{}", done.content);
    in_no_row(&world, SECRET, "a long one");
    // Without a session that puts it aside first, it is not written down either.
    let world = World::new().await;
    let executor = world.executor_of(world.catalogue(Policy::default()));
    let input = json!({"name": "y", "credentials": {"K": SECRET, "short": "77777"}});
    let done = executor.run_calls(&world.call(), vec![asked("c", "spawn_team", input)]).await.unwrap().remove(0);
    assert!(!done.is_error, "{}", done.content);
    in_no_row(&world, SECRET, "not put aside");
    in_no_row(&world, "\"77777\"", "not put aside");
    assert!(world.scrub.finds_in(Secret::new(SECRET).expose()));
}
