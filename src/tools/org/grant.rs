//! What a child team's agent may use: its own lists, and of those what its parent's let through. Pure.

use std::collections::BTreeMap;

use org::teams::TeamConfig;

use crate::catalogue::{ActiveSet, Catalogue, Entry};
use crate::permission::{AgentKind, Grant, Toolbox, shown};
use crate::spec::Spec;

/// The grant of a team below one with this grant. `config` is what is in force of its configuration, `toolboxes` are all
/// there are, `direct` is what people granted to it. A toolbox that there is not grants nothing.
///
/// What is known of plugins is the caller's to add. Who caused the turn is taken over from the parent's grant.
pub fn child_grant(
    catalogue: &Catalogue,
    parent: &Grant,
    config: &TeamConfig,
    toolboxes: &[store::toolboxes::Toolbox],
    direct: Vec<String>,
) -> Grant {
    let chosen = config.toolboxes.as_ref().map(|names| {
        let there = names.iter().filter_map(|name| toolboxes.iter().find(|toolbox| toolbox.name == *name));
        there.map(|toolbox| Toolbox { name: toolbox.name.clone(), tools: toolbox.tools.clone() }).collect()
    });
    Grant {
        agent: AgentKind::Sub,
        allowed_tools: config.allowed_tools.clone(),
        toolboxes: chosen,
        direct,
        parent: Some(heritage(catalogue.entries().map(Entry::spec), parent)),
        plugins: BTreeMap::new(),
        remit: None,
        trusted: parent.trusted,
        admin: parent.admin,
    }
}

/// What a team with this grant can hand on: what its lists let through. Its own kind does not matter: the root's agent has
/// no parent to hand work to, and its children have.
pub fn heritage<'a>(tools: impl Iterator<Item = &'a Spec>, parent: &Grant) -> ActiveSet {
    let as_child = Grant { agent: AgentKind::Sub, ..parent.clone() };
    tools.filter(|tool| shown(tool, parent).allowed || shown(tool, &as_child).allowed).map(|tool| &*tool.name).collect()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::permission::PluginFacts;
    use crate::spec::{Availability, Source};
    use crate::testing::{Fake, spec};
    use crate::tool::AnyTool;

    const NAMES: [&str; 8] =
        ["read_file", "web_fetch", "vault_get", "vault_set", "report_to_parent", "hidden", "main_only", "ops.deploy"];

    fn catalogue() -> Catalogue {
        let tool = |name: &'static str| -> Arc<dyn AnyTool> {
            Fake::echo(Spec {
                name: Cow::Borrowed(name),
                default_disabled: name == "hidden",
                availability: match name {
                    "main_only" => Availability::Main,
                    "report_to_parent" => Availability::Sub,
                    _ => Availability::Both,
                },
                source: if name == "ops.deploy" { Source::Plugin } else { Source::Native },
                ..spec(name)
            })
        };
        Catalogue::new(NAMES.into_iter().map(tool).collect()).unwrap()
    }

    fn patterns() -> impl Strategy<Value = Vec<String>> {
        let all = ["*", "vault_*", "web_fetch", "hidden", "main_only", "ops.*", "ops.deploy", "?eb_fetch", "nothing"];
        vec(prop::sample::select(all.to_vec()).prop_map(str::to_owned), 0..4)
    }

    prop_compose! {
        fn config()(allowed_tools in patterns(), toolboxes in option::of(vec("[abc]", 0..3))) -> TeamConfig {
            TeamConfig { allowed_tools, toolboxes, ..TeamConfig::default() }
        }
    }

    proptest! {
        #[test]
        fn no_team_down_the_line_has_what_the_one_above_it_lacks(
            root in patterns(),
            line in vec((config(), patterns()), 1..4),
            boxes in vec(patterns(), 2),
        ) {
            let catalogue = catalogue();
            let toolbox = |(name, tools): (&str, Vec<String>)| store::toolboxes::Toolbox {
                name: name.to_owned(), about: String::new(), tools, builtin: false,
            };
            let boxes: Vec<_> = ["a", "b"].into_iter().zip(boxes).map(toolbox).collect();
            let mut above = Grant { allowed_tools: root, ..Grant::main(false) };
            for (config, direct) in line {
                let mut own = child_grant(&catalogue, &above, &config, &boxes, direct);
                own.plugins.insert("ops.deploy".to_owned(), PluginFacts::all());
                let heritage = heritage(catalogue.entries().map(Entry::spec), &above);
                for name in catalogue.active(&own).names() {
                    let floor = AgentKind::Sub.floor().any(|tool| tool == name);
                    prop_assert!(floor || heritage.contains(name), "{} got {}", config.allowed_tools.join(" "), name);
                    prop_assert!(name != "main_only");
                }
                above = own;
            }
        }
    }

    #[test]
    fn an_empty_configuration_leaves_the_floor_alone() {
        let catalogue = catalogue();
        let grant = child_grant(&catalogue, &Grant::main(true), &TeamConfig::default(), &[], Vec::new());
        assert_eq!(catalogue.active(&grant).names().collect::<Vec<_>>(), ["read_file", "report_to_parent"]);
        assert!(grant.trusted && grant.admin);
        let all = TeamConfig { allowed_tools: vec!["*".to_owned()], ..TeamConfig::default() };
        let grant = child_grant(&catalogue, &Grant::main(false), &all, &[], Vec::new());
        assert_eq!(
            catalogue.active(&grant).names().collect::<Vec<_>>(),
            ["read_file", "report_to_parent", "vault_get", "vault_set", "web_fetch"]
        );
    }
}
