//! The vault's tools as a model calls them, through the executor.

use std::sync::Arc;

use base::{Secret, TeamName};
use org::vault::Vault;
use serde_json::{Value, json};

use super::{VaultDelete, VaultGet, VaultList, VaultSet};
use crate::spec::Admission;
use crate::testing::{World, asked};
use crate::{AnyTool, Call, Done};

struct Kept {
    world: World,
    vault: Vault,
}

impl Kept {
    async fn new() -> Kept {
        let world = World::new().await;
        let vault = world.vault.clone();
        Kept { world, vault }
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        let vault = || self.vault.clone();
        vec![
            Arc::new(VaultSet { vault: vault() }),
            Arc::new(VaultGet { vault: vault() }),
            Arc::new(VaultList { vault: vault() }),
            Arc::new(VaultDelete { vault: vault() }),
        ]
    }

    async fn ask(&self, team: &str, tool: &str, input: Value) -> Done {
        let step = 1 + i64::try_from(self.world.rows().await.len()).unwrap();
        let call = Call { step, team: team.parse().unwrap(), ..self.world.call() };
        let executor = self.world.executor(self.tools());
        executor.run_calls(&call, vec![asked("1", tool, input)]).await.unwrap().remove(0)
    }

    async fn told(&self, tool: &str, input: Value) -> Value {
        let done = self.ask("main", tool, input).await;
        assert!(!done.is_error, "{}", done.content);
        serde_json::from_str(&done.content).unwrap()
    }

    async fn put_secret(&self, key: &str, value: &str) {
        let (team, value) = (TeamName::main(), Secret::new(value));
        let put = async |conn: &mut store::Conn| Ok(self.vault.put_secret(conn, &team, key, &value, "test").await?);
        self.world.db.tx("test", put).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_team_sets_gets_lists_and_deletes() {
    let kept = Kept::new().await;
    let at = "2026-11-21 20:03 UTC";
    let entry = |key: &str, value: &str, version: i64| json!({"key": key, "isSecret": false, "value": value, "version": version, "createdAt": at, "updatedAt": at});
    for (key, value, version) in [("cursor", "1", 1), ("cursor", "2", 2), ("journal:x", "y", 1)] {
        let told = kept.told("vault_set", json!({"key": key, "value": value})).await;
        assert_eq!(told, json!({"success": true, "entry": entry(key, value, version)}));
    }
    let told = kept.told("vault_get", json!({"key": "cursor"})).await;
    assert_eq!(told, json!({"success": true, "isSecret": false, "value": "2"}));
    assert_eq!(kept.told("vault_list", json!({})).await, json!([entry("cursor", "2", 2), entry("journal:x", "y", 1)]));
    assert_eq!(kept.told("vault_list", json!({"prefix": "journal:"})).await, json!([entry("journal:x", "y", 1)]));
    for deleted in [true, false] {
        let told = kept.told("vault_delete", json!({"key": "cursor"})).await;
        assert_eq!(told, json!({"success": true, "deleted": deleted}));
    }
    let nothing = kept.ask("ops", "vault_get", json!({"key": "journal:x"})).await;
    let expected = "this team keeps nothing under `journal:x`: `vault_list` shows what there is";
    assert_eq!((nothing.content.as_str(), nothing.is_error), (expected, true), "another team's");
}

#[tokio::test(start_paused = true)]
async fn of_a_secret_a_model_gets_the_placeholder_and_can_change_nothing() {
    let kept = Kept::new().await;
    kept.put_secret("API_KEY", "s3cr3t-v4lue").await;
    let told = kept.told("vault_get", json!({"key": "API_KEY"})).await;
    assert_eq!(told, json!({"success": true, "isSecret": true, "value": "{{secret:API_KEY}}"}));
    let listed = kept.told("vault_list", json!({})).await;
    assert_eq!((listed[0]["isSecret"].clone(), listed[0].get("value")), (json!(true), None));
    let managed = "`API_KEY` is a secret: the system manages it, and no tool can change or delete it";
    let holds =
        "a secret stands in this: secrets are not kept as plain values; write {{secret:KEY}} where a tool needs one";
    for (tool, input, text) in [
        ("vault_set", json!({"key": "API_KEY", "value": "mine"}), managed),
        ("vault_delete", json!({"key": "API_KEY"}), managed),
        ("vault_set", json!({"key": "copy", "value": "<s3cr3t-v4lue>"}), holds),
        (
            "vault_set",
            json!({"key": "empty", "value": ""}),
            "the value is empty: use `vault_delete` to remove an entry",
        ),
        (
            "vault_set",
            json!({"key": "a", "value": "b", "is_secret": true}),
            "bad arguments: unknown field `is_secret`, expected `key` or `value`",
        ),
    ] {
        let done = kept.ask("main", tool, input).await;
        assert_eq!((done.content.as_str(), done.is_error), (text, true));
    }
    let rows = kept.world.rows().await;
    assert_eq!(rows.len(), 7);
    assert!(!format!("{rows:?}").contains("s3cr3t-v4lue"), "nor does the journal have it");
}

#[tokio::test(start_paused = true)]
async fn calls_about_secrets_are_admitted_alone_and_others_beside_each_other() {
    let kept = Kept::new().await;
    kept.put_secret("API_KEY", "s3cr3t-v4lue").await;
    for (at, secret, plain) in [
        (0, json!({"key": "API_KEY", "value": "x"}), json!({"key": "other", "value": "x"})),
        (3, json!({"key": "API_KEY"}), json!({"key": "other"})),
    ] {
        assert_eq!(kept.tools()[at].check(&secret), Ok(Admission::Org), "{secret}");
        assert_eq!(kept.tools()[at].check(&plain), Ok(Admission::Daily), "{plain}");
    }
    assert_eq!(kept.tools()[1].check(&json!({"key": "API_KEY"})), Ok(Admission::Daily));
}
