//! Admission to a team: a few daily ops side by side, an org op alone.
//!
//! A fair semaphore is the whole mechanism: a daily op takes one slot, an org op takes them all. Whoever asks first
//! is let in first, so an org op waits only for what runs already, and nothing overtakes it meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::TeamName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::spec::Admission;

/// A team's gate. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    slots: Arc<Semaphore>,
    cap: u32,
    daily: Arc<AtomicU32>,
    org: Arc<AtomicU32>,
    waiting_org: Arc<AtomicU32>,
}

/// The right to run. Dropping it makes room.
#[derive(Debug)]
pub struct Pass {
    // Before the permit: whoever gets the slot next must not be counted beside us.
    _counted: Counted,
    permit: OwnedSemaphorePermit,
}

impl Pass {
    /// The org op of this gate that had it is over, and a daily op goes on in its place: one slot is kept, the others
    /// are free at once.
    pub(crate) fn keep_one(mut self, gate: &Gate) -> Pass {
        match self.permit.split(1) {
            // Counted before the others are free: whoever gets one must find this one beside it.
            Some(permit) => Pass { _counted: Counted::new(&gate.daily), permit },
            None => self,
        }
    }
}

/// Nobody made room in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("saturation: the team is busy, and nothing became free within {}", base::clock::show_span(*.waited))]
pub struct Saturated {
    /// How long it waited.
    pub waited: Duration,
}

/// What a gate is doing, for `get_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Daily ops that run.
    pub active_daily_ops: u32,
    /// Whether there are as many of them as there may be. Another one may have to wait all the same: for an org op.
    pub saturation: bool,
    /// Whether an org op waits to run.
    pub org_op_pending: bool,
    /// Whether an org op runs.
    pub org_op_active: bool,
}

impl Load {
    /// Whether nothing runs and nobody waits.
    pub fn is_free(self) -> bool {
        self.active_daily_ops == 0 && !self.org_op_pending && !self.org_op_active
    }
}

impl Gate {
    /// A gate with room for `cap` daily ops, at least one.
    pub fn new(cap: u32) -> Self {
        let cap = cap.max(1);
        let slots = Arc::new(Semaphore::new(usize::try_from(cap).unwrap_or(Semaphore::MAX_PERMITS)));
        Gate { slots, cap, daily: Arc::default(), org: Arc::default(), waiting_org: Arc::default() }
    }

    /// Waits to be let in, at most `patience`. A wait that is dropped leaves no trace.
    ///
    /// # Errors
    /// If nobody made room in time.
    pub async fn enter(&self, admission: Admission, patience: Duration) -> Result<Pass, Saturated> {
        let (slots, counter, waiting) = match admission {
            Admission::Daily => (1, &self.daily, None),
            Admission::Org => (self.cap, &self.org, Some(Counted::new(&self.waiting_org))),
        };
        let permit = tokio::time::timeout(patience, self.slots.clone().acquire_many_owned(slots)).await;
        let permit = permit.map_err(|_| Saturated { waited: patience })?.expect("the semaphore is never closed");
        let pass = Pass { _counted: Counted::new(counter), permit };
        drop(waiting);
        Ok(pass)
    }

    /// What it is doing.
    pub fn load(&self) -> Load {
        let active_daily_ops = self.daily.load(Ordering::Acquire);
        Load {
            active_daily_ops,
            saturation: active_daily_ops >= self.cap,
            org_op_pending: self.waiting_org.load(Ordering::Acquire) > 0,
            org_op_active: self.org.load(Ordering::Acquire) > 0,
        }
    }
}

/// Counts one up, and down again when it is dropped.
#[derive(Debug)]
struct Counted(Arc<AtomicU32>);

impl Counted {
    fn new(counter: &Arc<AtomicU32>) -> Self {
        counter.fetch_add(1, Ordering::AcqRel);
        Counted(counter.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The gates of all teams. Clones are the same gates.
#[derive(Clone, Debug)]
pub struct Gates {
    cap: u32,
    gates: Arc<Mutex<BTreeMap<TeamName, Known>>>,
}

#[derive(Debug)]
struct Known {
    gate: Gate,
    /// Whether it has as much room as its team was last said to have.
    fits: bool,
}

impl Gates {
    /// How many daily ops of a team run side by side where nothing else is configured (`max_concurrent_daily_ops`).
    pub const DAILY_OPS_MAX: u32 = 5;

    /// Gates with room for `cap` daily ops each.
    pub fn new(cap: u32) -> Self {
        Gates { cap, gates: Arc::default() }
    }

    /// The gate of a team.
    pub fn of(&self, team: &TeamName) -> Gate {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = gates.get(team) {
            return known.gate.clone();
        }
        let new = || Known { gate: Gate::new(self.cap), fits: false };
        gates.entry(team.clone()).or_insert_with(new).gate.clone()
    }

    /// Gives a team's gate room for `cap` daily ops. One that is in use stays as it is until nobody uses it.
    pub fn fit(&self, team: &TeamName, cap: u32) {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        match gates.get_mut(team) {
            Some(known) if known.gate.cap == cap.max(1) => known.fits = true,
            Some(known) if !known.gate.load().is_free() => known.fits = false,
            _ => drop(gates.insert(team.clone(), Known { gate: Gate::new(cap), fits: true })),
        }
    }

    /// Whether a team's gate has as much room as was last said, and anything was said at all.
    pub fn is_fit(&self, team: &TeamName) -> bool {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).get(team).is_some_and(|known| known.fits)
    }

    /// Forgets the gate of a team that is gone.
    pub fn forget(&self, team: &TeamName) {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).remove(team);
    }

    /// What the gates are doing that somebody has asked for, by team.
    pub fn loads(&self) -> Vec<(TeamName, Load)> {
        let gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.iter().map(|(team, known)| (team.clone(), known.gate.load())).collect()
    }
}

#[cfg(test)]
mod tests;
