//! Work on many files that ends in time, with what it has by then.

use std::time::Duration;

use base::Stop;

use crate::call::Call;
use crate::tool::ToolError;
use crate::workspace::blocking;

/// How long a search looks. Shorter than its tool's time: what was found until then is still an answer.
pub const SEARCH_TIME: Duration = Duration::from_secs(20);

/// How long a tool that searches may take altogether.
pub const TOOL_TIME: Duration = Duration::from_secs(30);

/// Runs file work whose stop token is cancelled after [`SEARCH_TIME`], and waits for what it makes of that.
///
/// # Errors
/// Those of the work.
pub async fn bounded<T: Send + 'static>(
    call: &Call,
    work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = call.stop.child_token();
    let own = stop.clone();
    let mut work = std::pin::pin!(blocking(move || work(&own)));
    match tokio::time::timeout(SEARCH_TIME, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            stop.cancel();
            work.await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[tokio::test(start_paused = true)]
    async fn work_whose_time_is_up_gives_what_it_has() {
        let world = World::new().await;
        let call = world.call();
        let work = bounded(&call, |stop| {
            while !stop.is_cancelled() {
                std::thread::yield_now();
            }
            Ok("half of it")
        });
        let (done, ()) = tokio::join!(work, tokio::time::advance(SEARCH_TIME + Duration::from_secs(1)));
        assert_eq!(done.unwrap(), "half of it");
        assert!(!call.stop.is_cancelled(), "the turn goes on");
        assert!(SEARCH_TIME < TOOL_TIME);
    }
}
