//! Dependencies run to the left (ARCHITECTURE.md, "The house").

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::Findings;
use super::sources;

/// The packages, each of which may use those before it.
const PACKAGES: &[&str] = &["channels", "base", "store", "llm", "net", "org", "tools", "openhive"];
/// Packages for tests and examples: no product code may use them.
const SUPPORT: &[&str] = &["fakes"];
/// The modules of the hive, each of which may use those before it.
const MODULES: &[&str] =
    &["config", "voices", "welcome", "toolkit", "session", "classifier", "commands", "loops", "app", "cli"];

/// What cargo says about the packages of this workspace.
pub fn metadata() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(sources::root())
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    all["packages"].as_array().expect("a workspace has packages").clone()
}

/// The dependencies of a package that its product has, by name.
pub fn product_dependencies(package: &Value) -> Vec<String> {
    let all = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_product = all.iter().filter(|dependency| dependency["kind"].is_null());
    of_product.filter_map(|dependency| dependency["name"].as_str().map(str::to_owned)).collect()
}

/// Checks the manifests.
pub fn between_packages() -> Findings {
    let (mut seen, mut wrong) = (0, Vec::new());
    for package in metadata() {
        let name = package["name"].as_str().expect("a package has a name").to_owned();
        if SUPPORT.contains(&name.as_str()) {
            continue;
        }
        let Some(here) = height(PACKAGES, &name) else {
            wrong.push(format!("the package `{name}` has no place among {PACKAGES:?}"));
            continue;
        };
        for used in product_dependencies(&package) {
            if SUPPORT.contains(&used.as_str()) {
                wrong.push(format!("`{name}` uses `{used}`, which is for tests"));
            }
            let Some(there) = height(PACKAGES, &used) else { continue };
            seen += 1;
            if there >= here {
                wrong.push(format!("`{name}` may not use `{used}`"));
            }
        }
    }
    Findings { seen, wrong }
}

/// Checks the `crate::` paths of the hive.
pub fn between_modules() -> Findings {
    let packages: Vec<String> = metadata()
        .iter()
        .filter_map(|package| package["manifest_path"].as_str()?.strip_suffix("/Cargo.toml").map(str::to_owned))
        .collect();
    let own = |source: &&sources::Source| {
        let path = sources::root().join(&source.path);
        let of_another =
            |package: &&String| **package != env!("CARGO_MANIFEST_DIR") && path.starts_with(package.as_str());
        source.path.starts_with("src") && !packages.iter().any(|package| of_another(&package))
    };
    let (mut seen, mut wrong) = (0, Vec::new());
    for source in sources::rust().iter().filter(own) {
        let shown = source.path.display();
        let below = source.path.strip_prefix("src").expect("it is there").with_extension("");
        let module = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let Some(module) = module.filter(|module| !["lib", "main"].contains(&module.as_str())) else { continue };
        let Some(here) = height(MODULES, &module) else {
            wrong.push(format!("{shown}: the module `{module}` has no place among {MODULES:?}"));
            continue;
        };
        for used in used_modules(&source.text) {
            let Some(there) = height(MODULES, &used) else { continue };
            seen += 1;
            if there > here {
                wrong.push(format!("{shown}: `{module}` may not use `{used}`"));
            }
        }
    }
    Findings { seen, wrong }
}

/// The first names behind `crate::`, those in braces included. What stands in a comment is no use.
fn used_modules(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut used = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => used.extend(firsts(list)),
            None => used.extend(name(rest)),
        }
    }
    used
}

/// The first name of every path of a list in braces.
fn firsts(list: &str) -> Vec<String> {
    let (mut depth, mut begins, mut found) = (0, true, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                found.extend(name(&list[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    found
}

fn name(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

fn height(order: &[&str], name: &str) -> Option<usize> {
    order.iter().position(|known| *known == name)
}
