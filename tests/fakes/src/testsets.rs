//! Where public test data lies, if it is there.

use std::path::PathBuf;

/// The path of `name` (for example `api/discord_openapi.json`) under the folder that `HIVE_TESTSETS` names, or
/// `None` with a message on stderr where the variable is unset or the file is missing: the test then skips.
pub fn testset(name: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("HIVE_TESTSETS") else {
        eprintln!("skipped: HIVE_TESTSETS is not set, so there is no {name}");
        return None;
    };
    let path = PathBuf::from(root).join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}
