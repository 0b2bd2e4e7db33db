//! What touches the outside world is reached through one place.

use super::arrows::{metadata, product_dependencies};
use super::{Findings, sources};

/// Crates of the outside world, and the packages that may use them.
const OWNERS: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("sqlx", &["store"]),
    ("reqwest", &["llm", "net", "channels"]),
    ("serenity", &["channels"]),
    ("teloxide", &["channels"]),
    ("rand", &["base"]),
];

/// Folders that may spawn: tasks are `base::Tasks`' business, and an adapter answers for its own.
const SPAWNERS: &[&str] = &["src/base", "channels/src"];
const SPAWNS: &[&str] = &["tokio::spawn(", "task::spawn(", "spawn_local(", "thread::spawn("];

/// Checks the manifests: each such crate is used by its owners and by nobody else.
pub fn by_manifest() -> Findings {
    let (mut seen, mut wrong) = (0, Vec::new());
    for package in metadata() {
        let name = package["name"].as_str().expect("a package has a name");
        // The servers that tests talk to are no part of the product.
        for used in product_dependencies(&package).iter().filter(|_| name != "fakes") {
            let Some((_, owners)) = OWNERS.iter().find(|(known, _)| known == used) else { continue };
            seen += 1;
            if !owners.contains(&name) {
                wrong.push(format!("`{name}` uses `{used}`, which belongs to {owners:?}"));
            }
        }
    }
    Findings { seen, wrong }
}

/// Checks who spawns.
pub fn spawning() -> Findings {
    let (mut seen, mut wrong) = (0, Vec::new());
    for source in sources::rust() {
        for (number, line) in source.product_lines() {
            if SPAWNS.iter().any(|call| line.contains(call)) {
                seen += 1;
                if !source.is_in(SPAWNERS) {
                    wrong.push(format!("{}:{number}: only {SPAWNERS:?} spawn", source.path.display()));
                }
            }
        }
        seen += source.text.matches("tracker.spawn(").count();
    }
    Findings { seen, wrong }
}
