//! Scripted faults: what goes wrong with which requests, and how often.

use std::time::Duration;

/// Which requests a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// `POST /channels/{id}/messages`
    Send,
    /// `PATCH /channels/{id}/messages/{id}`
    Edit,
    /// `DELETE /channels/{id}/messages/{id}`
    Delete,
    /// `GET /channels/{id}/messages`
    History,
    /// `GET /channels/{id}`
    Channel,
    /// `POST /channels/{id}/typing`
    Typing,
    /// `POST /interactions/{id}/{token}/callback`
    Callback,
    /// `PATCH /webhooks/{id}/{token}/messages/@original`
    Original,
    /// `PUT /applications/{id}/commands`
    Commands,
    /// `GET /gateway` and `GET /gateway/bot`
    Gateway,
    /// `GET /users/@me`
    Me,
    /// Any request of the REST API.
    Any,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// 429 with this `retry_after`, for the bucket or for everything. Not carried out.
    TooMany {
        /// What the answer says to wait.
        retry_after: Duration,
        /// Whether it says that everything must wait.
        global: bool,
    },
    /// This status, with Discord's code and words. Not carried out.
    Status {
        /// The HTTP status.
        status: u16,
        /// Discord's own code.
        code: i64,
    },
    /// The connection ends before the request is carried out.
    CutBefore,
    /// The request is carried out, and the connection ends before the answer.
    CutAfter,
    /// Carried out and answered, this much later.
    Delay(Duration),
}

/// A fault and for what it still waits.
#[derive(Debug)]
struct Plan {
    on: On,
    channel: Option<u64>,
    fault: Fault,
    left: usize,
}

/// The faults to come, first planned first served.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Plan>);

impl Faults {
    pub(super) fn plan(&mut self, on: On, channel: Option<u64>, fault: Fault, times: usize) {
        self.0.push(Plan { on, channel, fault, left: times });
    }

    /// What happens to this request, if anything.
    pub(super) fn strike(&mut self, on: On, channel: Option<u64>) -> Option<Fault> {
        let meant = |plan: &Plan| {
            (plan.on == on || plan.on == On::Any)
                && (plan.channel.is_none() || plan.channel == channel)
                && plan.left > 0
        };
        let plan = self.0.iter_mut().find(|plan| meant(plan))?;
        plan.left -= 1;
        let fault = plan.fault.clone();
        self.0.retain(|plan| plan.left > 0);
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_what_it_is_for_as_often_as_planned() {
        let mut faults = Faults::default();
        faults.plan(On::Send, Some(1), Fault::CutBefore, 2);
        faults.plan(On::Any, None, Fault::CutAfter, 1);
        assert_eq!(faults.strike(On::Send, Some(1)), Some(Fault::CutBefore));
        assert_eq!(faults.strike(On::Send, Some(2)), Some(Fault::CutAfter));
        assert_eq!(faults.strike(On::Send, Some(2)), None);
        assert_eq!(faults.strike(On::Edit, Some(1)), None);
        assert_eq!(faults.strike(On::Send, Some(1)), Some(Fault::CutBefore));
        assert_eq!(faults.strike(On::Send, Some(1)), None);
    }
}
