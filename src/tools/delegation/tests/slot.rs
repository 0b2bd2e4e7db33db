//! Slots on virtual time: nothing is lost, nobody waits for ever, an org op is alone.

use std::sync::atomic::{AtomicU32, Ordering};

use base::{Clock, Tasks};
use futures::poll;
use proptest::prelude::*;

use super::*;
use crate::spec::Admission::{Daily, Org};
use crate::spec::{Admission, Spec};
use crate::testing::{Fake, spec, writes};
use crate::{Gate, Load};

const PATIENT: Duration = Duration::from_secs(3_600);

async fn slot(gate: &Gate) -> Arc<Slot> {
    Arc::new(Slot::take(&team("ops"), gate.clone(), PATIENT).await.unwrap())
}

fn daily(active_daily_ops: u32, saturation: bool) -> Load {
    Load { active_daily_ops, saturation, org_op_pending: false, org_op_active: false }
}

#[tokio::test(start_paused = true)]
async fn calls_that_ride_take_no_slots_of_their_own() {
    let gate = Gate::new(2);
    let slot = slot(&gate).await;
    let rides = [slot.ride(Daily, PATIENT).await, slot.ride(Daily, PATIENT).await, slot.ride(Daily, PATIENT).await];
    assert_eq!(gate.load(), daily(1, false));
    drop(slot);
    assert_eq!(gate.load(), daily(1, false), "while a call rides on it the slot is held");
    drop(rides);
    assert!(gate.load().is_free());
}

#[tokio::test(start_paused = true)]
async fn an_org_op_waits_for_the_team_and_keeps_one_slot_afterwards() {
    let gate = Gate::new(3);
    let (ours, others) = (slot(&gate).await, slot(&gate).await);
    let beside = ours.ride(Daily, PATIENT).await.unwrap();
    let mut org = Box::pin(ours.ride(Org, PATIENT));
    assert!(poll!(&mut org).is_pending(), "a call of its own session runs");
    drop(beside);
    assert!(poll!(&mut org).is_pending(), "somebody else has a slot");
    assert_eq!(gate.load(), Load { org_op_pending: true, ..daily(1, false) }, "given back");
    drop(others);
    let org = org.await.unwrap();
    let mut behind = Box::pin(ours.ride(Daily, PATIENT));
    assert!(poll!(&mut behind).is_pending(), "alone on its slot");
    assert!(gate.enter(Daily, Duration::ZERO).await.is_err(), "alone in its team");
    drop(org);
    assert_eq!(gate.load(), daily(1, false), "one slot is kept, the others are free");
    behind.await.unwrap();
    drop(ours);
    assert!(gate.load().is_free());
}

#[tokio::test(start_paused = true)]
async fn an_org_op_that_does_not_come_to_run_leaves_its_session_able_to_go_on() {
    let gate = Gate::new(2);
    let (ours, others) = (slot(&gate).await, slot(&gate).await);
    let patience = Duration::from_secs(30);
    assert_eq!(ours.ride(Org, patience).await.unwrap_err().waited, patience);
    assert_eq!(gate.load(), daily(1, false), "the slot is given back");
    let mut dropped = Box::pin(ours.ride(Org, PATIENT));
    assert!(poll!(&mut dropped).is_pending());
    drop(dropped);
    let ride = ours.ride(Daily, PATIENT).await.unwrap();
    assert_eq!(gate.load(), daily(2, true), "the next call takes one again");
    drop((ride, ours));
    assert_eq!(gate.load(), daily(1, false));
    drop(others);
    assert!(gate.load().is_free());
}

#[tokio::test(start_paused = true)]
async fn two_sessions_that_both_want_the_team_for_themselves_get_it_one_after_the_other() {
    let gate = Gate::new(5);
    let slots = [slot(&gate).await, slot(&gate).await];
    let clock = Clock::starting_at(0);
    let org = async |slot: &Slot| {
        let ride = slot.ride(Org, PATIENT).await.unwrap();
        clock.sleep(Duration::from_secs(1)).await;
        drop(ride);
        // Its session goes on.
        drop(slot.ride(Daily, PATIENT).await.unwrap());
    };
    let began = clock.now();
    tokio::join!(org(&slots[0]), org(&slots[1]));
    assert_eq!(clock.now() - began, 2_000, "the second waits for the first, and not for its session");
    assert_eq!(gate.load(), daily(2, false));
}

/// Five questions to a team of five slots, whose sessions all run tools, and one of them an org op.
#[tokio::test(start_paused = true)]
async fn as_many_questions_as_slots_starve_nobody() {
    let world = World::new().await;
    let (clock, inside, alone) = (world.clock, Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let work = |spec: Spec, counter: Arc<AtomicU32>, inside: Arc<AtomicU32>| {
        let org = spec.ops == crate::spec::Ops::Org;
        Fake::tool(spec, move |_, _| {
            let (counter, inside) = (counter.clone(), inside.clone());
            async move {
                let beside = inside.fetch_add(1, Ordering::SeqCst);
                counter.fetch_add(1, Ordering::SeqCst);
                assert!(!org || beside == 0, "an org op beside {beside} others");
                clock.sleep(Duration::from_secs(1)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                Ok("done".to_owned())
            }
        })
    };
    let looked = Arc::new(AtomicU32::new(0));
    let tools = world.executor(vec![
        work(spec("look"), looked.clone(), inside.clone()),
        work(Spec { ops: crate::spec::Ops::Org, ..writes("rule") }, alone.clone(), inside.clone()),
    ]);
    let tools = Arc::new(tools);
    let runs = tools.clone();
    let script = Script::of(move |call, question| {
        let tools = runs.clone();
        async move {
            // One session of the team does something alone, the others look.
            let tool = if question.text == "0" { "rule" } else { "look" };
            let own = Call { team: team("a"), depth: 1, slot: question.slot, ..call };
            let ids = ["x", "y"].map(|id| format!("{}-{id}", question.text));
            let calls = ids.iter().map(|id| asked(id, tool, serde_json::json!({"id": id}))).collect();
            let done = tools.run_calls(&own, calls).await.unwrap();
            assert!(done.iter().all(|done| !done.is_error), "{done:?}");
            Ok(question.text)
        }
    });
    let sessions: Arc<dyn Sessions> = script.clone();
    let slots = async |n: usize| {
        let gate = world.gates.of(&team("a"));
        let slot = Arc::new(Slot::take(&team("a"), gate, PATIENT).await.unwrap());
        let (whom, text) = (Whom::Team(team("a")), n.to_string());
        sessions.ask(&world.call(), Question { whom, text, slot: Some(slot), depth: 1, at: n }).await.unwrap()
    };
    let all = futures::future::join_all((0..5).map(slots));
    let answers = tokio::time::timeout(PATIENT, all).await.expect("the team waits for itself");
    assert_eq!(answers, ["0", "1", "2", "3", "4"]);
    assert_eq!((looked.load(Ordering::SeqCst), alone.load(Ordering::SeqCst)), (8, 2));
    assert!(world.gates.of(&team("a")).load().is_free());
}

#[derive(Clone, Copy, Debug)]
struct Op {
    /// Which slot it rides on; none of them: on its own.
    slot: usize,
    admission: Admission,
    asks_after: u64,
    runs: u64,
    gives_up: Option<u64>,
    /// It is dropped after this long, wherever it is.
    dropped: Option<u64>,
}

fn op() -> impl Strategy<Value = Op> {
    let admission = prop_oneof![3 => Just(Daily), 1 => Just(Org)];
    let (gives_up, dropped) = (prop::option::weighted(0.2, 0_u64..30), prop::option::weighted(0.2, 0_u64..40));
    (0_usize..4, admission, 0_u64..10, 1_u64..30, gives_up, dropped).prop_map(
        |(slot, admission, asks_after, runs, gives_up, dropped)| Op {
            slot,
            admission,
            asks_after,
            runs,
            gives_up,
            dropped,
        },
    )
}

/// Rides on up to three slots of a gate and beside them. What ran beside what, who never came in, and the gate's load.
fn play(cap: u32, ops: &[Op]) -> (Vec<Vec<Admission>>, Vec<usize>, Load) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (gate, clock, tasks) = (Gate::new(cap), Clock::starting_at(0), Tasks::new());
        let mut slots = Vec::new();
        for _ in 0..cap.min(3) {
            slots.push(slot(&gate).await);
        }
        let inside: Arc<Mutex<Vec<(usize, Admission)>>> = Arc::default();
        let seen: Arc<Mutex<Vec<Vec<Admission>>>> = Arc::default();
        let lost: Arc<Mutex<Vec<usize>>> = Arc::default();
        // A slot is held until its last op has ended: an org op of somebody else waits for that.
        let rides: Vec<_> = ops.iter().map(|op| slots.get(op.slot).cloned()).collect();
        drop(slots);
        for (at, (op, slot)) in ops.iter().copied().zip(rides).enumerate() {
            clock.sleep(Duration::from_millis(op.asks_after)).await;
            let (gate, inside) = (gate.clone(), inside.clone());
            let (seen, lost) = (seen.clone(), lost.clone());
            tasks.spawn("op", async move {
                let patience = op.gives_up.map_or(PATIENT, Duration::from_millis);
                let out = Leaves { at, inside: inside.clone() };
                let work = async {
                    let ride = match &slot {
                        Some(slot) => slot.ride(op.admission, patience).await.map(|ride| (Some(ride), None)),
                        None => gate.enter(op.admission, patience).await.map(|pass| (None, Some(pass))),
                    };
                    let Ok(ride) = ride else { return };
                    {
                        let mut inside = inside.lock().unwrap();
                        inside.push((at, op.admission));
                        seen.lock().unwrap().push(inside.iter().map(|(_, admission)| *admission).collect());
                    }
                    clock.sleep(Duration::from_millis(op.runs)).await;
                    drop(out);
                    drop(ride);
                };
                let limit = op.dropped.map_or(PATIENT * 2, Duration::from_millis);
                let came_to_its_end = tokio::time::timeout(limit, work).await.is_ok();
                if !came_to_its_end && op.dropped.is_none() {
                    lost.lock().unwrap().push(at);
                }
            });
            tokio::task::yield_now().await;
        }
        assert!(tasks.wait(PATIENT).await, "somebody waits for ever");
        let (seen, lost) = (seen.lock().unwrap().clone(), lost.lock().unwrap().clone());
        (seen, lost, gate.load())
    })
}

/// Notes that an op is out, also when it is dropped.
struct Leaves {
    at: usize,
    inside: Arc<Mutex<Vec<(usize, Admission)>>>,
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.inside.lock().unwrap().retain(|(at, _)| *at != self.at);
    }
}

proptest! {
    #[test]
    fn slots_keep_the_promises_of_the_gate(cap in 1_u32..6, ops in prop::collection::vec(op(), 1..30)) {
        let (seen, lost, load) = play(cap, &ops);
        for inside in &seen {
            let orgs = inside.iter().filter(|admission| **admission == Org).count();
            prop_assert!(orgs == 0 || inside.len() == 1, "an org op beside others: {inside:?}");
        }
        prop_assert!(lost.is_empty(), "{lost:?} never came in");
        prop_assert!(load.is_free(), "{load:?}");
    }
}
