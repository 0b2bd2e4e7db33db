//! The only place that spawns. A task has a name, an owner and a stop token, and its owner waits for it.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// A group of tasks that end together.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// An empty group.
    pub fn new() -> Self {
        Tasks::default()
    }

    /// A group that also stops when this one does.
    pub fn child(&self) -> Tasks {
        Tasks { tracker: TaskTracker::new(), stop: self.stop.child_token() }
    }

    /// The token that tells this group's tasks to stop.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a task. A panic in it is logged with its name and stops nothing else.
    #[expect(clippy::disallowed_methods, reason = "this is the door to spawning")]
    pub fn spawn<F>(&self, name: &'static str, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let guarded = async move {
            if let Err(panic) = futures::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(work)).await {
                let why = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let why = why.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
                tracing::error!(task = name, "the task {name} ended by a fault of ours: {why}");
            }
        };
        self.tracker.spawn(guarded.in_current_span());
    }

    /// How many tasks are running.
    pub fn running(&self) -> usize {
        self.tracker.len()
    }

    /// Tells the tasks to stop, without waiting.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until every task has ended, or until `limit`. `false` where some had not.
    pub async fn wait(&self, limit: Duration) -> bool {
        self.tracker.close();
        tokio::time::timeout(limit, self.tracker.wait()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stopping_a_group_ends_its_tasks_and_its_children_s() {
        let tasks = Tasks::new();
        let child = tasks.child();
        for group in [&tasks, &child] {
            let stop = group.stop_token();
            group.spawn("waits", async move { stop.cancelled().await });
        }
        tasks.spawn("panics", async { panic!("on purpose") });
        tasks.stop();
        assert!(tasks.wait(Duration::from_secs(5)).await);
        assert!(child.wait(Duration::from_secs(5)).await);
    }
}
