//! The slot of a team that a question takes for its whole length, and that the calls of the asked session ride on.

use std::sync::Arc;
use std::time::Duration;

use base::TeamName;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio::time::timeout;

use crate::gate::{Gate, Pass, Saturated};
use crate::spec::Admission;

/// A slot of a team. Five questions to a team with five slots leave none for the calls of the sessions that answer
/// them: those ride on the slots of their questions, or the team would wait for itself.
///
/// Invariants: a daily op rides only while the slot is held. An org op rides alone, on this slot and in its team. When
/// the slot and its last ride are dropped, the team has all of its slots.
#[derive(Debug)]
pub struct Slot {
    team: TeamName,
    gate: Gate,
    /// `None` once an org op gave the slot back and kept none: who rides next takes one again. The lock is fair, so that
    /// an org op waits only for the rides before it.
    pass: Arc<RwLock<Option<Pass>>>,
}

/// The right to run of a call that rides on a slot. Dropping it makes room for what comes next on the slot.
#[derive(Debug)]
pub struct Ride {
    _kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Daily { _slot: OwnedRwLockReadGuard<Option<Pass>> },
    Org { _alone: Alone },
}

/// An org op has the whole team; when it ends it keeps one slot of it, unless another org op waits.
#[derive(Debug)]
struct Alone {
    pass: Option<Pass>,
    gate: Gate,
    slot: OwnedRwLockWriteGuard<Option<Pass>>,
}

impl Slot {
    /// Takes a slot of a team, waiting at most `patience`. A wait that is dropped leaves no trace.
    ///
    /// # Errors
    /// If none becomes free in time.
    pub async fn take(team: &TeamName, gate: Gate, patience: Duration) -> Result<Slot, Saturated> {
        let pass = gate.enter(Admission::Daily, patience).await?;
        Ok(Slot { team: team.clone(), gate, pass: Arc::new(RwLock::new(Some(pass))) })
    }

    /// Whose slot it is.
    pub fn team(&self) -> &TeamName {
        &self.team
    }

    /// Lets a call of the session that has this slot run: a daily op at once, an org op when it is alone in the team.
    /// For that the slot is given back first, because two such ops that both kept theirs would wait for each other for
    /// ever. A wait that is dropped takes no slot with it.
    ///
    /// # Errors
    /// If the team does not become free in time.
    pub async fn ride(&self, admission: Admission, patience: Duration) -> Result<Ride, Saturated> {
        let kind = timeout(patience, self.board(admission, patience)).await;
        Ok(Ride { _kind: kind.unwrap_or(Err(Saturated { waited: patience }))? })
    }

    async fn board(&self, admission: Admission, patience: Duration) -> Result<Kind, Saturated> {
        if admission == Admission::Daily {
            let slot = self.pass.clone().read_owned().await;
            if slot.is_some() {
                return Ok(Kind::Daily { _slot: slot });
            }
        }
        let mut slot = self.pass.clone().write_owned().await;
        match admission {
            Admission::Daily => {
                // Somebody else may have taken it meanwhile.
                if slot.is_none() {
                    *slot = Some(self.gate.enter(Admission::Daily, patience).await?);
                }
                Ok(Kind::Daily { _slot: slot.downgrade() })
            }
            Admission::Org => {
                *slot = None;
                let pass = Some(self.gate.enter(Admission::Org, patience).await?);
                Ok(Kind::Org { _alone: Alone { pass, gate: self.gate.clone(), slot } })
            }
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // Another org op waits for the whole team, and may not be overtaken: whoever rides next waits behind it.
        let overtakes = self.gate.load().org_op_pending;
        *self.slot = self.pass.take().filter(|_| !overtakes).map(|pass| pass.keep_one(&self.gate));
    }
}
