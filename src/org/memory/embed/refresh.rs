//! Another model: every chunk gets its vector anew, a batch at a time, in the background.

use anyhow::{Context, Result};
use store::{Db, memory};

use super::super::Library;
use super::{checked, text_of};

/// Gives at most `batch` chunks that have no vector of this model one, and says how many it gave. Call it until it
/// gives none. Searches go on meanwhile: a chunk without a vector is found by its words.
///
/// # Errors
/// If the model fails, or the database does. Nothing of the batch is kept then; another call tries it again.
pub async fn refresh(db: &Db, library: &Library, batch: u32) -> Result<usize> {
    let embedder = library.embedder();
    let stale = db.read(async |conn| memory::stale(conn, embedder.name(), batch).await).await?;
    if stale.is_empty() {
        return Ok(0);
    }
    let texts: Vec<String> = stale.iter().map(|chunk| text_of(&chunk.title, &chunk.content)).collect();
    let vectors = checked(embedder, &texts).await.context("make vectors of memories")?;
    library.works();
    let keep = async |conn: &mut store::Conn| {
        for (chunk, vector) in stale.iter().zip(&vectors) {
            memory::set_vector(conn, chunk.chunk, embedder.name(), vector).await?;
        }
        Ok(())
    };
    db.note("keep vectors of memories", keep).await?;
    Ok(stale.len())
}
