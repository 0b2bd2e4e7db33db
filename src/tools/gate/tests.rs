//! The gate against its promises, over random schedules on virtual time.

use std::sync::Arc;
use std::sync::Mutex;

use base::{Clock, Moment, Tasks};
use proptest::prelude::*;

use super::*;

/// Longer than any schedule here.
const PATIENT: Duration = Duration::from_secs(3_600);

#[derive(Clone, Copy, Debug)]
struct Op {
    admission: Admission,
    /// When it asks, after the one before it, in milliseconds.
    asks_after: u64,
    /// How long it runs.
    runs: u64,
    /// Whether it stops waiting, and after how long.
    gives_up: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    In(usize, Moment),
    Out(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let admission = prop_oneof![3 => Just(Admission::Daily), 1 => Just(Admission::Org)];
    let gives_up = prop::option::weighted(0.2, 0_u64..30);
    (admission, 0_u64..15, 1_u64..40, gives_up).prop_map(|(admission, asks_after, runs, gives_up)| Op {
        admission,
        asks_after,
        runs,
        gives_up,
    })
}

/// Plays a schedule; who went in and out, in order, and the gate's load at the end.
fn play(cap: u32, ops: &[Op]) -> (Vec<Seen>, Load) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (gate, clock, tasks) = (Gate::new(cap), Clock::starting_at(0), Tasks::new());
        let seen = Arc::new(Mutex::new(Vec::new()));
        for (at, op) in ops.iter().copied().enumerate() {
            clock.sleep(Duration::from_millis(op.asks_after)).await;
            let (gate, seen) = (gate.clone(), seen.clone());
            tasks.spawn("op", async move {
                let patience = op.gives_up.map_or(PATIENT, Duration::from_millis);
                let Ok(pass) = gate.enter(op.admission, patience).await else { return };
                seen.lock().unwrap().push(Seen::In(at, clock.now()));
                clock.sleep(Duration::from_millis(op.runs)).await;
                seen.lock().unwrap().push(Seen::Out(at));
                drop(pass);
            });
            tokio::task::yield_now().await;
        }
        assert!(tasks.wait(PATIENT).await, "somebody never came in");
        let seen = seen.lock().unwrap().clone();
        (seen, gate.load())
    })
}

proptest! {
    #[test]
    fn the_gate_keeps_its_promises(cap in 1_u32..6, ops in prop::collection::vec(op(), 1..40)) {
        let (seen, load) = play(cap, &ops);
        let mut inside: Vec<usize> = Vec::new();
        let mut came_in: BTreeMap<usize, Moment> = BTreeMap::new();
        for event in &seen {
            match *event {
                Seen::Out(at) => inside.retain(|other| *other != at),
                Seen::In(at, now) => {
                    came_in.insert(at, now);
                    inside.push(at);
                }
            }
            let orgs = inside.iter().filter(|at| ops[**at].admission == Admission::Org).count();
            prop_assert!(inside.len() <= cap as usize, "{inside:?}");
            prop_assert!(orgs == 0 || inside.len() == 1, "an org op beside others: {inside:?}");
        }
        // They asked in the order of their numbers. Who is let in at one moment may be told in any order.
        prop_assert!(came_in.values().is_sorted(), "somebody was overtaken: {came_in:?}");
        for (at, op) in ops.iter().enumerate() {
            prop_assert!(op.gives_up.is_some() || seen.contains(&Seen::Out(at)), "{at} was forgotten");
        }
        prop_assert!(load.is_free(), "{load:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_leaves_no_trace() {
    let gate = Gate::new(2);
    let running = gate.enter(Admission::Daily, PATIENT).await.unwrap();
    let mut org = Box::pin(gate.enter(Admission::Org, PATIENT));
    assert!(futures::poll!(&mut org).is_pending());
    let waits = |active_daily_ops| Load {
        active_daily_ops,
        saturation: active_daily_ops == 2,
        org_op_pending: true,
        org_op_active: false,
    };
    assert_eq!(gate.load(), waits(1), "who waits for an org op does not make it saturated");
    let mut behind = Box::pin(gate.enter(Admission::Daily, PATIENT));
    assert!(futures::poll!(&mut behind).is_pending(), "a daily op may not overtake a waiting org op");
    drop(org);
    let behind = behind.await.unwrap();
    assert_eq!(gate.load(), Load { org_op_pending: false, ..waits(2) });
    drop((running, behind));
    assert!(gate.load().is_free());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_takes_too_long_says_so() {
    let gates = Gates::new(1);
    let team = TeamName::main();
    let _org = gates.of(&team).enter(Admission::Org, PATIENT).await.unwrap();
    let waited = Duration::from_secs(30);
    let refused = gates.of(&team).enter(Admission::Daily, waited).await.unwrap_err();
    assert_eq!(refused.to_string(), "saturation: the team is busy, and nothing became free within 30s");
    let other: TeamName = "ops".parse().unwrap();
    assert!(gates.of(&other).enter(Admission::Daily, Duration::ZERO).await.is_ok(), "each team has its own gate");
}

#[tokio::test(start_paused = true)]
async fn an_org_op_lets_what_runs_go_on_and_then_runs_alone() {
    let gate = Gate::new(3);
    let first = gate.enter(Admission::Daily, PATIENT).await.unwrap();
    let second = gate.enter(Admission::Daily, PATIENT).await.unwrap();
    let mut org = Box::pin(gate.enter(Admission::Org, PATIENT));
    assert!(futures::poll!(&mut org).is_pending());
    let mut later = Box::pin(gate.enter(Admission::Daily, PATIENT));
    assert!(futures::poll!(&mut later).is_pending(), "there is a slot, and nobody new is let in");
    drop(first);
    assert!(futures::poll!(&mut org).is_pending(), "it waits for all that run");
    assert_eq!(gate.load().active_daily_ops, 1, "none of them was ended");
    drop(second);
    let alone = org.await.unwrap();
    assert!(futures::poll!(&mut later).is_pending());
    let runs = Load { active_daily_ops: 0, saturation: false, org_op_pending: false, org_op_active: true };
    assert_eq!((gate.load(), gate.load().is_free()), (runs, false), "an org op that runs shows, and saturates nothing");
    drop(alone);
    drop(later.await.unwrap());
    assert!(gate.load().is_free());
}

#[tokio::test(start_paused = true)]
async fn every_team_s_load_is_told_by_its_name() {
    let (gates, ops): (Gates, TeamName) = (Gates::new(2), "ops".parse().unwrap());
    assert!(gates.loads().is_empty());
    let pass = gates.of(&ops).enter(Admission::Daily, PATIENT).await.unwrap();
    drop(gates.of(&TeamName::main()).enter(Admission::Org, PATIENT).await.unwrap());
    let loads = gates.clone().loads();
    assert_eq!(
        loads.iter().map(|(team, load)| (team.as_str(), load.is_free())).collect::<Vec<_>>(),
        [("main", true), ("ops", false)]
    );
    drop(pass);
    assert!(gates.loads().iter().all(|(_, load)| load.is_free()));
}
