//! The hive stops in the middle of a step: it does no more harm than a crash, and what need not be told is not.

use super::*;

/// A call of a turn that is stopped because the hive stops, after 5 s.
fn leaving(world: &World) -> Call {
    let call = Call { stop: Stop::new(), leaving: Stop::new(), ..world.call() };
    let (stop, leaving, clock) = (call.stop.clone(), call.leaving.clone(), world.clock);
    Tasks::new().spawn("stop", async move {
        clock.sleep(Duration::from_secs(5)).await;
        leaving.cancel();
        stop.cancel();
    });
    call
}

/// The rows, by the ids of their calls.
async fn states(world: &World) -> Vec<(String, State)> {
    world.rows().await.into_iter().map(|row| (row.call_id, row.state)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_may_run_again_and_what_has_not_begun_is_made_by_the_turn_that_goes_on() {
    let world = World::new().await;
    let tools = |time| vec![sleeping(&world, spec("look"), time), sleeping(&world, writes("write"), time)];
    let calls = || vec![asked("a", "look", json!({"n": 1})), asked("b", "write", json!({"n": 2}))];
    world.executor(tools(LONG)).run_calls(&leaving(&world), calls()).await.unwrap();
    assert_eq!(states(&world).await, [("a".to_owned(), State::Started)], "as a crash would have left it");
    let done = world.executor(tools(Duration::ZERO)).run_calls(&world.call(), calls()).await.unwrap();
    assert_eq!(contents(&done), [("{\"n\":1}", false), ("{\"n\":2}", false)]);
}

#[tokio::test(start_paused = true)]
async fn what_has_an_effect_each_time_and_was_cut_off_is_told_to_have_been() {
    let world = World::new().await;
    let tools = |time| vec![sleeping(&world, writes("write"), time), sleeping(&world, spec("look"), time)];
    let calls = || vec![asked("a", "write", json!({})), asked("b", "look", json!({}))];
    world.executor(tools(LONG)).run_calls(&leaving(&world), calls()).await.unwrap();
    assert_eq!(states(&world).await, [("a".to_owned(), State::Finished)]);
    let done = world.executor(tools(Duration::ZERO)).run_calls(&world.call(), calls()).await.unwrap();
    let unknown = "the turn was stopped while this ran; interrupted, outcome unknown: look before you do it again";
    assert_eq!(contents(&done), [(unknown, true), ("{}", false)]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_says_itself_that_it_was_stopped_is_run_again_as_well() {
    let world = World::new().await;
    let waits = Fake::tool(spec("look"), async |call: Call, _| {
        call.stop.cancelled().await;
        Err(ToolError::refused("stopped"))
    });
    world.executor(vec![waits]).run_calls(&leaving(&world), vec![asked("a", "look", json!({}))]).await.unwrap();
    assert_eq!(states(&world).await, [("a".to_owned(), State::Started)]);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_room_in_its_team_waits_for_it_again() {
    let world = World::new().await;
    let alone = Spec { ops: Ops::Org, effect: crate::spec::Effect::Idempotent, ..writes("alone") };
    let executor = world.executor(vec![Fake::echo(alone)]);
    let pass = executor.gates.of(&world.call().team).enter(crate::Admission::Daily, LONG).await.unwrap();
    let calls = || vec![asked("a", "alone", json!({}))];
    executor.run_calls(&leaving(&world), calls()).await.unwrap();
    assert_eq!(states(&world).await, [("a".to_owned(), State::Started)]);
    drop(pass);
    assert_eq!(contents(&executor.run_calls(&world.call(), calls()).await.unwrap()), [("{}", false)]);
}
