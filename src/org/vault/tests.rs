//! The vault over a real database: what is kept, who may, what is refused, and that no value stands in the file.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use base::TeamName;
use serde_json::json;

use super::*;

struct World {
    folder: tempfile::TempDir,
    db: Db,
    vault: Vault,
}

const NOW: Moment = 1_795_291_380_000;

impl World {
    async fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
        let clock = Clock::starting_at(NOW);
        let vault = Vault::open(&db, clock, &Scrub::new(), None, folder.path()).await.unwrap();
        World { folder, db, vault }
    }

    /// As after a restart, with the key that is given.
    async fn again(&self, key: Option<&Secret>) -> Result<(Vault, Scrub)> {
        let scrub = Scrub::new();
        let vault = Vault::open(&self.db, Clock::starting_at(NOW), &scrub, key, self.folder.path()).await?;
        Ok((vault, scrub))
    }

    async fn put(&self, team: &str, key: &str, value: &str) -> Entry {
        let (team, value) = (name(team), Secret::new(value));
        let put = async |conn: &mut Conn| Ok(self.vault.put_secret(conn, &team, key, &value, "main").await?);
        self.db.tx("test", put).await.unwrap()
    }

    async fn rows(&self) -> Vec<Row> {
        self.db.read(async |conn| vault::all(conn).await).await.unwrap()
    }

    /// Writes a row as somebody would who has the database and no key.
    async fn forge(&self, row: Row) {
        self.db
            .tx("forge", async |conn| {
                if let Some(there) = vault::get(conn, &row.team, &row.key).await? {
                    vault::remove(conn, &row.team, &row.key, there.version).await?;
                }
                // A row comes in with version 1 and is brought to the version that is wanted.
                for version in 1..=row.version {
                    assert!(vault::put(conn, &Row { version, ..row.clone() }).await?);
                }
                Ok(())
            })
            .await
            .unwrap();
    }
}

fn name(team: &str) -> TeamName {
    team.parse().unwrap()
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, VaultError>) -> Refusal {
    match outcome {
        Err(VaultError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn text<T>(outcome: Result<T>) -> String {
    format!("{:#}", outcome.err().expect("an error"))
}

#[tokio::test(start_paused = true)]
async fn a_team_keeps_its_own_values_and_sees_no_other_teams() {
    let world = World::new().await;
    let (ops, docs) = (name("ops"), name("docs"));
    let first = world.vault.set(&ops, "journal:1", "one").await.unwrap();
    tokio::time::advance(std::time::Duration::from_millis(5)).await;
    let second = world.vault.set(&ops, "journal:1", "two").await.unwrap();
    let expected = Entry {
        key: "journal:1".into(),
        value: Some("two".into()),
        version: 2,
        updated_by: None,
        created_at: first.created_at,
        updated_at: first.created_at + 5,
    };
    assert_eq!((second.clone(), first.version), (expected, 1));
    world.vault.set(&ops, "other", "x").await.unwrap();
    world.vault.set(&docs, "journal:1", "of docs").await.unwrap();
    assert_eq!(world.vault.get(&ops, "journal:1").await.unwrap(), Some(second));
    assert_eq!(world.vault.get(&docs, "other").await.unwrap(), None);
    for (prefix, keys) in
        [("", vec!["journal:1", "other"]), ("journal:", vec!["journal:1"]), ("%", vec![]), ("JOURNAL", vec![])]
    {
        let listed = world.vault.list(&ops, prefix).await.unwrap();
        assert_eq!(listed.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), keys, "{prefix}");
    }
    assert!(world.vault.delete(&ops, "other").await.unwrap());
    assert!(!world.vault.delete(&ops, "other").await.unwrap());
    assert_eq!(world.vault.list(&docs, "").await.unwrap()[0].value.as_deref(), Some("of docs"));
}

#[tokio::test]
async fn a_secret_is_the_systems_alone_and_its_value_is_told_to_nobody() {
    let world = World::new().await;
    let ops = name("ops");
    world.vault.set(&ops, "API_KEY", "still plain").await.unwrap();
    let put = world.put("ops", "API_KEY", "s3cr3t-v4lue").await;
    assert_eq!((put.value.as_deref(), put.version, put.updated_by.as_deref()), (None, 2, Some("main")));
    assert_eq!(world.vault.get(&ops, "API_KEY").await.unwrap(), Some(put.clone()));
    assert_eq!(world.vault.list(&ops, "").await.unwrap(), [put]);
    assert_eq!(refused(world.vault.set(&ops, "API_KEY", "mine now").await), Refusal::Managed("API_KEY".into()));
    assert_eq!(refused(world.vault.delete(&ops, "API_KEY").await), Refusal::Managed("API_KEY".into()));
    for value in ["s3cr3t-v4lue", "so: s3cr3t-v4lue!", "czNjcjN0LXY0bHVl", "s3cr3t%2dv4lue"] {
        assert_eq!(refused(world.vault.set(&ops, "copy", value).await), Refusal::HoldsSecret, "{value}");
    }
    assert!(world.vault.may_be_secret("API_KEY") && !world.vault.may_be_secret("copy"));
    assert!(!format!("{:?} {:?}", world.rows().await, world.vault.list(&ops, "").await).contains("s3cr3t"));
    let gone = world.db.tx("test", async |conn| world.vault.remove(conn, &ops, "API_KEY").await).await.unwrap();
    assert!(gone);
    assert_eq!(world.vault.list(&ops, "").await.unwrap(), []);
}

#[tokio::test]
async fn bounds_are_kept_and_said() {
    let world = World::new().await;
    let rules = VaultRules { key_bytes_max: 4, value_bytes_max: 10, entries_max: 2 };
    let key = key::read_file(&key::path(world.folder.path())).unwrap().unwrap();
    let vault = Vault::with_key(&world.db, Clock::Wall, &Scrub::new(), &key, rules).await.unwrap();
    let ops = name("ops");
    for (key, value, refusal) in [
        ("", "x", "`` is no vault key: use 1 to 4 letters, digits and `_ - . : / @`"),
        ("a b", "x", "`a b` is no vault key: use 1 to 4 letters, digits and `_ - . : / @`"),
        ("a}}b", "x", "`a}}b` is no vault key: use 1 to 4 letters, digits and `_ - . : / @`"),
        ("abcde", "x", "`abcde` is no vault key: use 1 to 4 letters, digits and `_ - . : / @`"),
        ("a", "", "the value is empty: use `vault_delete` to remove an entry"),
        ("a", "12345678901", "the value has 11 bytes, and at most 10 are kept: write it to a file instead"),
    ] {
        assert_eq!(refused(vault.set(&ops, key, value).await).to_string(), refusal);
    }
    vault.set(&ops, "a", "1").await.unwrap();
    vault.set(&ops, "b", "1").await.unwrap();
    assert_eq!(refused(vault.set(&ops, "c", "1").await), Refusal::Full(2));
    vault.set(&ops, "b", "2").await.unwrap();
    vault.set(&name("docs"), "c", "1").await.unwrap();
}

#[tokio::test]
async fn concurrent_writes_each_get_a_version_and_none_is_lost() {
    let world = World::new().await;
    let ops = name("ops");
    let writes = (0..40).map(|number| {
        let (vault, ops) = (world.vault.clone(), ops.clone());
        async move { vault.set(&ops, "counter", &number.to_string()).await.unwrap().version }
    });
    let mut versions = futures_of(writes).await;
    versions.sort_unstable();
    assert_eq!(versions, (1..=40).collect::<Vec<_>>());
    let stale = Row { version: 40, ..world.rows().await.remove(0) };
    let put = world.db.tx("test", async |conn| vault::put(conn, &stale).await).await.unwrap();
    assert!(!put, "a writer who has seen version 39 only");
}

#[tokio::test]
async fn a_secret_that_comes_between_is_never_made_plain() {
    let world = World::new().await;
    let ops = name("ops");
    let agent = futures_of((0..20).map(|_| {
        let (vault, ops) = (world.vault.clone(), ops.clone());
        async move { vault.set(&ops, "KEY", "plain").await.is_ok() }
    }));
    let (_, put) = tokio::join!(agent, world.put("ops", "KEY", "s3cr3t-v4lue"));
    assert!(put.is_secret());
    assert!(world.vault.get(&ops, "KEY").await.unwrap().unwrap().is_secret());
    let plain = Row { is_secret: false, version: put.version + 1, ..world.rows().await.remove(0) };
    let error = text(world.db.tx("test", async |conn| vault::put(conn, &plain).await).await);
    assert!(error.contains("a secret never becomes a plain value"), "{error}");
}

async fn futures_of<T: Send + 'static>(work: impl Iterator<Item = impl Future<Output = T> + Send + 'static>) -> Vec<T> {
    let mut set = tokio::task::JoinSet::new();
    work.for_each(|one| drop(set.spawn(one)));
    set.join_all().await
}

#[tokio::test]
async fn arguments_are_expanded_in_a_copy_and_what_was_used_is_scrubbed() {
    let world = World::new().await;
    world.put("ops", "TOKEN", "s3cr3t-v4lue").await;
    world.vault.set(&name("ops"), "plain", "x").await.unwrap();
    // As in a process that has not met the secret yet: another one wrote it.
    let (vault, scrub) = world.again(None).await.unwrap();
    let unused = Scrub::new();
    let key = key::read_file(&key::path(world.folder.path())).unwrap().unwrap();
    let other = Vault::with_key(&world.db, Clock::Wall, &unused, &key, VaultRules::default()).await.unwrap();
    world.put("ops", "LATER", "l4ter-s3cr3t").await;
    assert_eq!(unused.clean("s3cr3t-v4lue l4ter-s3cr3t"), "[REDACTED] l4ter-s3cr3t");
    let arguments = json!({"headers": {"Authorization": "Bearer {{secret:LATER}}"}, "n": 1});
    let expected = json!({"headers": {"Authorization": "Bearer l4ter-s3cr3t"}, "n": 1});
    assert_eq!(other.expand(&name("ops"), arguments).await.unwrap(), expected);
    assert_eq!(unused.clean("s3cr3t-v4lue l4ter-s3cr3t"), "[REDACTED] [REDACTED]");
    for (team, key, known) in
        [("ops", "plain", "`LATER`, `TOKEN`"), ("ops", "token", "`LATER`, `TOKEN`"), ("docs", "TOKEN", "none")]
    {
        let refusal = refused(vault.expand(&name(team), json!([placeholder(key)])).await);
        assert_eq!(refusal.to_string(), format!("there is no secret `{key}` in this team; there are: {known}"));
    }
    assert_eq!(vault.expand(&name("docs"), json!({"a": "{{b}}"})).await.unwrap(), json!({"a": "{{b}}"}));
    assert!(scrub.finds_in("s3cr3t-v4lue"));
}

#[tokio::test]
async fn rows_that_were_changed_moved_or_put_back_are_refused() {
    let world = World::new().await;
    world.put("ops", "A", "s3cr3t-of-ops").await;
    world.put("docs", "A", "s3cr3t-of-docs").await;
    world.vault.set(&name("ops"), "p", "old").await.unwrap();
    let rows = world.rows().await;
    let row =
        |team: &str, key: &str| rows.iter().find(|row| row.team.as_str() == team && row.key == key).unwrap().clone();
    let (secret, others, plain) = (row("ops", "A"), row("docs", "A"), row("ops", "p"));
    world.vault.set(&name("ops"), "p", "new").await.unwrap();
    let flipped = |mut row: Row| {
        row.value.sealed[0] ^= 1;
        row
    };
    for forged in [
        Row { value: others.value.clone(), ..secret.clone() },
        Row { key: "B".into(), is_secret: true, ..secret.clone() },
        Row { team: name("evil"), ..secret.clone() },
        Row { is_secret: false, ..secret.clone() },
        Row { version: 2, ..secret.clone() },
        Row { version: 2, ..plain.clone() },
        flipped(secret.clone()),
        Row { value: Sealed { nonce: vec![0; 24], ..secret.value.clone() }, ..secret.clone() },
    ] {
        let (team, key) = (forged.team.clone(), forged.key.clone());
        world.forge(forged.clone()).await;
        let error = text(world.vault.get(&team, &key).await);
        let expected =
            format!("the vault's row `{key}` of {team} is not what was written there: it was changed from outside");
        assert_eq!(error, expected, "{forged:?}");
        if forged.is_secret {
            assert_eq!(text(world.again(None).await), expected);
        }
        let remove = async |conn: &mut Conn| vault::remove(conn, &team, &key, forged.version).await;
        assert!(world.db.tx("test", remove).await.unwrap());
    }
}

#[tokio::test]
async fn another_key_a_lost_key_and_an_open_key_file_are_said_in_words() {
    let world = World::new().await;
    world.put("ops", "A", "s3cr3t-v4lue").await;
    assert!(world.again(None).await.unwrap().1.finds_in("s3cr3t-v4lue"));
    let other = Secret::new("ab".repeat(32));
    let wrong = text(world.again(Some(&other)).await);
    assert!(wrong.starts_with("the vault was encrypted with another key: give the HIVE_VAULT_KEY"), "{wrong}");
    let bad = text(world.again(Some(&Secret::new("hunter2"))).await);
    assert!(bad.starts_with("HIVE_VAULT_KEY holds no vault key") && !bad.contains("hunter2"), "{bad}");
    let path = key::path(world.folder.path());
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let open = text(world.again(None).await);
    assert!(open.contains("can be read by others (mode 644)"), "{open}");
    std::fs::remove_file(&path).unwrap();
    let gone = text(world.again(None).await);
    assert!(gone.starts_with("the vault is encrypted, and its key is gone: set HIVE_VAULT_KEY or restore"), "{gone}");
    assert!(!path.exists(), "no new key is made over what is encrypted");
}

#[tokio::test]
async fn no_value_stands_in_the_database_file() {
    let world = World::new().await;
    world.put("ops", "A", "s3cr3t-v4lue").await;
    world.vault.set(&name("ops"), "p", "pl4in-v4lue").await.unwrap();
    let copy = world.folder.path().join("copy.db");
    world.db.backup(&copy).await.unwrap();
    for file in ["copy.db", "openhive.db", "openhive.db-wal"] {
        let Ok(bytes) = std::fs::read(world.folder.path().join(file)) else { continue };
        assert!(bytes.len() > 1_000, "{file} was looked at");
        for value in [b"s3cr3t-v4lue".as_slice(), b"pl4in-v4lue"] {
            assert!(!bytes.windows(value.len()).any(|window| window == value), "{file}");
        }
    }
}

#[tokio::test]
async fn the_key_can_be_changed_and_a_crash_in_between_leaves_a_vault_that_opens() {
    let world = World::new().await;
    world.put("ops", "A", "s3cr3t-v4lue").await;
    world.vault.set(&name("ops"), "p", "plain").await.unwrap();
    let path = key::path(world.folder.path());
    let first = std::fs::read(&path).unwrap();
    assert_eq!(rotate_file(&world.db, world.folder.path()).await.unwrap(), 2);
    let second = std::fs::read(&path).unwrap();
    assert_ne!(first, second);
    let (vault, _) = world.again(None).await.unwrap();
    assert_eq!(vault.get(&name("ops"), "p").await.unwrap().unwrap().value.as_deref(), Some("plain"));
    assert!(
        text(world.vault.get(&name("ops"), "p").await).contains("changed from outside"),
        "the old key opens nothing"
    );

    let next = path.with_extension("key.next");
    // Cut off before the database has the new key; while the file is written; after the database has it.
    key::write_new(&next, &Key::generate().unwrap()).unwrap();
    world.again(None).await.unwrap();
    assert!(!next.exists());
    std::fs::write(&next, "12").unwrap();
    std::fs::set_permissions(&next, Permissions::from_mode(0o600)).unwrap();
    world.again(None).await.unwrap();
    assert!(!next.exists());
    let third = Key::generate().unwrap();
    key::write_new(&next, &third).unwrap();
    rotate(&world.db, &key::read_file(&path).unwrap().unwrap(), &third).await.unwrap();
    assert_eq!(world.again(None).await.unwrap().0.list(&name("ops"), "").await.unwrap().len(), 2);
    assert!(!next.exists() && std::fs::read(&path).unwrap() != second);
    let wrong = rotate(&world.db, &Key::generate().unwrap(), &third).await;
    assert!(text(wrong).contains("another key than the one that was given"));
}
