//! Vectors of what teams remember: made where they are missing or another model's, and given back where nobody asks.
//!
//! A loop of its own: a provider's model is far away, and nothing else should wait for it.

use std::time::Duration;

use anyhow::Result;
use base::{Clock, Stop, Tasks, clock};
use org::memory::{self, Library};
use store::Db;

/// How soon after a start it is looked, and how often then.
const FIRST: Duration = Duration::from_secs(5);
const EVERY: Duration = Duration::from_secs(60);
/// Vectors in memory that nobody asked for in this time are given back.
const UNUSED: Duration = Duration::from_secs(600);
/// Most vectors that are made in one go.
const BATCH: u32 = 200;

/// Runs until `tasks` is told to stop.
pub async fn run(db: Db, clock: Clock, library: Library, tasks: Tasks) {
    let stop = tasks.stop_token();
    let mut next_release = clock.now() + clock::ms(UNUSED);
    let (mut wait, mut failed) = (FIRST, false);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = clock.sleep(wait) => {}
        }
        wait = EVERY;
        if clock.now() >= next_release {
            next_release = clock.now() + clock::ms(UNUSED);
            library.release_unused();
        }
        let made = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            made = all_missing(&db, &library, &stop) => made,
        };
        let model = library.embedder().name();
        match made {
            Ok(()) => failed = false,
            // Told once: it is tried again every minute.
            Err(error) if failed => tracing::debug!(model, "vectors of memories are still missing: {error:#}"),
            Err(error) => {
                failed = true;
                tracing::warn!(model, "vectors of memories are missing for now: {error:#}");
            }
        }
    }
}

async fn all_missing(db: &Db, library: &Library, stop: &Stop) -> Result<()> {
    while !stop.is_cancelled() && memory::refresh(db, library, BATCH).await? > 0 {}
    Ok(())
}
