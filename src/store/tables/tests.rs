//! Teams' databases: what they keep, and what nobody gets out of them or into them.

use base::{Stop, TeamName};
use serde_json::{Value, json};

use super::*;

struct Shelf {
    tables: Tables,
    team: TeamName,
    folder: tempfile::TempDir,
}

impl Shelf {
    fn new(limits: Limits) -> Shelf {
        let folder = tempfile::tempdir().unwrap();
        let tables = Tables::new(&folder.path().join("tables"), limits);
        Shelf { tables, team: "ops".parse().unwrap(), folder }
    }

    /// With a table in it.
    fn furnished(limits: Limits) -> Shelf {
        let shelf = Shelf::new(limits);
        shelf.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, weight REAL, raw BLOB)", json!([])).unwrap();
        shelf
    }

    fn ask<'a>(&'a self, sql: &'a str, values: &'a [Value]) -> Ask<'a> {
        Ask { team: &self.team, sql, values, rows_max: usize::MAX }
    }

    fn exec(&self, sql: &str, values: Value) -> Result<Answer, String> {
        said(self.tables.exec(&self.ask(sql, values.as_array().unwrap()), &Stop::new()))
    }

    fn query(&self, sql: &str, values: Value) -> Result<Answer, String> {
        said(self.tables.query(&self.ask(sql, values.as_array().unwrap()), &Stop::new()))
    }

    fn rows(&self, sql: &str) -> Value {
        json!(self.query(sql, json!([])).unwrap().rows)
    }
}

fn said(done: Result<Answer, Failed>) -> Result<Answer, String> {
    done.map_err(|failed| match failed {
        Failed::Refused(why) => why,
        Failed::Broken(error) => panic!("{error:#}"),
    })
}

/// Never ends by itself.
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[test]
fn what_is_written_is_read_back() {
    let shelf = Shelf::furnished(Limits::default());
    let sql = "INSERT INTO notes (text, weight) VALUES (?1, ?2), (?3, ?2), (?4, true) RETURNING id";
    let done = shelf.exec(sql, json!(["a", 1.5, {"k": [1]}, null])).unwrap();
    assert_eq!((done.changes, json!(done.rows)), (3, json!([[1], [2], [3]])));
    let answer = shelf.query("SELECT id, text, weight FROM notes WHERE weight > ? ORDER BY id", json!([0])).unwrap();
    let expected = json!([[1, "a", 1.5], [2, "{\"k\":[1]}", 1.5], [3, null, 1.0]]);
    assert_eq!(
        (answer.columns, json!(answer.rows), answer.truncated),
        (["id", "text", "weight"].map(str::to_owned).to_vec(), expected, false)
    );
    shelf.exec("UPDATE notes SET raw = x'00ff' WHERE id = 1", json!([])).unwrap();
    assert_eq!(shelf.rows("SELECT raw, 9e999 FROM notes WHERE id = 1"), json!([["x'00ff'", "inf"]]));
    assert_eq!(shelf.rows("SELECT json_extract(text, '$.k') FROM notes WHERE id = 2"), json!([["[1]"]]));
    assert_eq!(json!(shelf.query("SELECT $1, $2, $1", json!(["a", "b"])).unwrap().rows), json!([["a", "b", "a"]]));
}

#[test]
fn values_and_parameters_must_match() {
    let shelf = Shelf::furnished(Limits::default());
    for (sql, values, why) in [
        ("SELECT ?, ?", json!([1]), "parameter 2 has no value: 1 were given"),
        ("SELECT ?3", json!([1, 2]), "parameter 3 has no value: 2 were given"),
        ("SELECT 1", json!([1]), "values were given, and the statement has no parameter"),
        ("SELECT :name", json!([1]), "parameters are `?` or have numbers, `?1`: `:name` is neither"),
        ("SELECT ?", json!([18_446_744_073_709_551_615_u64]), "does not fit into a whole number of 64 bits"),
        ("", json!([]), "there is no statement that gives rows"),
        ("-- nothing", json!([]), "there is no statement that gives rows"),
        ("SELECT 1; SELECT 2", json!([]), "one statement at a time"),
        ("SELECT $2, ?1", json!([1, 2]), "`$2` is neither"),
        ("SELECT 'a\0b'", json!([]), "unrecognized token"),
        ("SELEC 1", json!([]), "near \"SELEC\": syntax error"),
        ("SELECT * FROM nowhere", json!([]), "no such table: nowhere"),
    ] {
        let said = shelf.query(sql, values).unwrap_err();
        assert!(said.contains(why), "{sql}: {said}");
    }
    assert_eq!(shelf.exec(" ; ", json!([])).unwrap_err(), "there is no statement");
    let several = shelf.exec("SELECT ?; SELECT ?", json!([1])).unwrap_err();
    assert_eq!(several, "values go with one statement, and there are several");
}

#[test]
fn a_query_changes_nothing_whatever_it_says() {
    let shelf = Shelf::furnished(Limits::default());
    shelf.exec("INSERT INTO notes (text) VALUES ('kept')", json!([])).unwrap();
    for sql in [
        "INSERT INTO notes (text) VALUES ('x') RETURNING id",
        "UPDATE notes SET text = 'x' RETURNING id",
        "DELETE FROM notes RETURNING id",
        "WITH x AS (SELECT 1) INSERT INTO notes (text) SELECT * FROM x RETURNING id",
        "CREATE TABLE other (a)",
        "DROP TABLE notes",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA journal_mode",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "VACUUM",
        "BEGIN",
        "SAVEPOINT a",
        "ANALYZE",
        "REINDEX",
    ] {
        let said = shelf.query(sql, json!([]));
        assert!(said.is_err(), "{sql}: {said:?}");
    }
    assert_eq!(shelf.rows("SELECT text FROM notes"), json!([["kept"]]));
    let only_read = shelf.query("DELETE FROM notes RETURNING id", json!([])).unwrap_err();
    assert_eq!(only_read, "here is only read, and rows are changed by this");
}

#[test]
fn nobody_gets_out_of_the_database() {
    let shelf = Shelf::furnished(Limits::default());
    let outside = shelf.folder.path().join("outside.db");
    let outside = outside.to_str().unwrap();
    let attempts = [
        format!("ATTACH '{outside}' AS other"),
        format!("ATTACH ':memory:' AS other; CREATE TABLE other.t (a); SELECT '{outside}'"),
        format!("VACUUM INTO '{outside}'"),
        "VACUUM".to_owned(),
        "DETACH main".to_owned(),
        format!("SELECT load_extension('{outside}')"),
        format!("SELECT writefile('{outside}', 'x')"),
        "SELECT readfile('/etc/hostname')".to_owned(),
        "SELECT fts3_tokenizer('simple')".to_owned(),
        "PRAGMA writable_schema = ON".to_owned(),
        "PRAGMA trusted_schema = ON".to_owned(),
        "PRAGMA max_page_count = 1000000000".to_owned(),
        "PRAGMA temp_store_directory = '/'".to_owned(),
        "PRAGMA journal_mode = OFF".to_owned(),
        "PRAGMA locking_mode = EXCLUSIVE".to_owned(),
        "PRAGMA page_size = 65536".to_owned(),
        "UPDATE sqlite_schema SET sql = 'x'".to_owned(),
        "INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)".to_owned(),
        "CREATE TEMP TABLE t (a)".to_owned(),
        "CREATE VIRTUAL TABLE t USING dbstat".to_owned(),
        "CREATE VIRTUAL TABLE t USING fts4 (a)".to_owned(),
        "COMMIT".to_owned(),
        "ROLLBACK".to_owned(),
        "COMMIT; BEGIN".to_owned(),
        "CREATE VIEW v AS SELECT load_extension('x'); SELECT * FROM v".to_owned(),
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN SELECT writefile('x', 'y'); END; INSERT INTO notes (id) VALUES (1)".to_owned(),
    ];
    for sql in &attempts {
        let said = shelf.exec(sql, json!([]));
        assert!(said.is_err(), "{sql}: {said:?}");
    }
    assert_eq!(shelf.rows("SELECT count(*), max(name) FROM sqlite_schema"), json!([[1, "notes"]]), "nothing is left");
    let files = std::fs::read_dir(shelf.folder.path()).unwrap().count();
    assert_eq!(files, 1, "the folder of the databases alone");
    let said = shelf.exec(&attempts[0], json!([])).unwrap_err();
    assert_eq!(said, "the team's database stands alone: no other is attached, and none is written");
}

#[test]
fn a_call_is_whole_or_nothing() {
    let shelf = Shelf::furnished(Limits::default());
    let broken = "INSERT INTO notes (id) VALUES (1); INSERT INTO notes (id) VALUES (1)";
    assert_eq!(shelf.exec(broken, json!([])).unwrap_err(), "UNIQUE constraint failed: notes.id");
    assert_eq!(shelf.rows("SELECT count(*) FROM notes"), json!([[0]]));
    let tree = "CREATE TABLE leaf (note REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED);
                INSERT INTO leaf VALUES (9)";
    assert_eq!(shelf.exec(tree, json!([])).unwrap_err(), "FOREIGN KEY constraint failed");
    assert_eq!(shelf.query("SELECT * FROM leaf", json!([])).unwrap_err(), "no such table: leaf");
    let good = "CREATE TABLE log (text); CREATE TRIGGER logged AFTER INSERT ON notes BEGIN
                  INSERT INTO log VALUES (new.text || '; ' || new.id); END;
                INSERT INTO notes (text) VALUES ('a'), ('b'); SELECT text FROM log ORDER BY 1;
                CREATE VIRTUAL TABLE words USING fts5 (text); INSERT INTO words VALUES ('blue bird');";
    let done = shelf.exec(good, json!([])).unwrap();
    assert_eq!(json!(done.rows), json!([["a; 1"], ["b; 2"]]));
    assert_eq!(shelf.rows("SELECT text FROM words WHERE words MATCH 'bird'"), json!([["blue bird"]]));
    shelf
        .exec(
            "ALTER TABLE notes ADD COLUMN more; CREATE INDEX i ON notes (more); ANALYZE; REINDEX i; DROP INDEX i",
            json!([]),
        )
        .unwrap();
    assert_eq!(shelf.rows("SELECT name FROM pragma_table_info('log')"), json!([["text"]]));
    assert_eq!(shelf.rows("PRAGMA index_list(notes)"), json!([]));
}

#[test]
fn each_team_has_its_own_and_it_can_be_removed() {
    let shelf = Shelf::furnished(Limits::default());
    let other: TeamName = "docs".parse().unwrap();
    let ask = Ask { team: &other, ..shelf.ask("SELECT count(*) FROM sqlite_schema", &[]) };
    assert_eq!(json!(said(shelf.tables.query(&ask, &Stop::new())).unwrap().rows), json!([[0]]), "an empty one");
    assert!(!shelf.folder.path().join("tables/docs.db").exists(), "looking makes none");
    shelf.tables.remove(&shelf.team).unwrap();
    shelf.tables.remove(&shelf.team).unwrap();
    assert_eq!(std::fs::read_dir(shelf.folder.path().join("tables")).unwrap().count(), 0);
    assert_eq!(shelf.query("SELECT * FROM notes", json!([])).unwrap_err(), "no such table: notes");
}

#[test]
fn a_link_in_its_place_is_not_followed() {
    let shelf = Shelf::furnished(Limits::default());
    let (file, elsewhere) = (shelf.folder.path().join("tables/ops.db"), shelf.folder.path().join("hive.db"));
    std::fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    for done in [
        shelf.tables.query(&shelf.ask("SELECT 1", &[]), &Stop::new()),
        shelf.tables.exec(&shelf.ask("DROP TABLE notes", &[]), &Stop::new()),
    ] {
        assert!(matches!(done, Err(Failed::Broken(_))), "{done:?}");
    }
}

#[test]
fn what_is_no_database_is_said_to_be_damaged() {
    let shelf = Shelf::furnished(Limits::default());
    let file = shelf.folder.path().join("tables/ops.db");
    std::fs::write(&file, "words ".repeat(2_000)).unwrap();
    let damaged = "the team's database is damaged, and a person must look at it";
    assert_eq!(shelf.query("SELECT * FROM notes", json!([])).unwrap_err(), damaged);
    assert_eq!(shelf.exec("DELETE FROM notes", json!([])).unwrap_err(), damaged);
}

#[test]
fn an_answer_is_bounded_in_rows_bytes_and_texts() {
    let shelf = Shelf::furnished(Limits { rows_max: 10, answer_bytes_max: 2_000, ..Limits::default() });
    let numbers = |n: u32, what: &str| {
        format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n}) SELECT {what} FROM n")
    };
    for (sql, rows, truncated) in [
        (numbers(10, "i"), 10, false),
        (numbers(11, "i"), 10, true),
        (numbers(9, "printf('%500d', i)"), 3, true),
        (numbers(2, "hex(zeroblob(50000))"), 1, true),
        (numbers(1, "zeroblob(50000)"), 1, true),
    ] {
        let answer = shelf.query(&sql, json!([])).unwrap();
        assert_eq!((answer.rows.len(), answer.truncated), (rows, truncated), "{sql}");
    }
    let ask = Ask { rows_max: 2, ..shelf.ask("VALUES (1), (2), (3)", &[]) };
    assert_eq!(said(shelf.tables.query(&ask, &Stop::new())).unwrap().rows.len(), 2);
    // A change is whole, however much of it is shown.
    let sql = format!("INSERT INTO notes (id) {} RETURNING id", numbers(500, "i"));
    let done = shelf.exec(&sql, json!([])).unwrap();
    assert_eq!((done.rows.len(), done.changes, done.truncated), (10, 500, true));
    assert_eq!(shelf.query("SELECT hex(zeroblob(2000000))", json!([])).unwrap_err(), "a value or a row is too long");
    let long = format!("SELECT '{}'", "x".repeat(100_000));
    assert_eq!(
        shelf.query(&long, json!([])).unwrap_err(),
        "SQL has at most 100000 bytes: give long values as parameters"
    );
}

#[test]
fn what_is_stopped_has_changed_nothing() {
    let shelf = Shelf::furnished(Limits::default());
    let stop = Stop::new();
    stop.cancel();
    let query = said(shelf.tables.query(&shelf.ask(ENDLESS, &[]), &stop)).unwrap_err();
    assert_eq!(query, "stopped before it was done");
    let sql = format!("INSERT INTO notes (text) VALUES ('x'); INSERT INTO notes (text) {ENDLESS}");
    assert_eq!(said(shelf.tables.exec(&shelf.ask(&sql, &[]), &stop)).unwrap_err(), "stopped before it was done");
    let short = said(shelf.tables.exec(&shelf.ask("INSERT INTO notes (id) VALUES (1)", &[]), &stop)).unwrap_err();
    assert_eq!(short, "stopped, and nothing was changed");
    assert_eq!(shelf.rows("SELECT count(*) FROM notes"), json!([[0]]));
}

#[test]
fn the_file_and_what_is_sorted_on_the_disk_are_bounded() {
    let limits = Limits { file_bytes_max: 200_000, written_bytes_max: 30 << 20, ..Limits::default() };
    let shelf = Shelf::furnished(limits);
    let fill = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                INSERT INTO notes (raw) SELECT randomblob(1000) FROM n";
    assert_eq!(shelf.exec(fill, json!([])).unwrap_err(), "the team's database is full: delete what is not needed");
    assert_eq!(shelf.rows("SELECT count(*) FROM notes"), json!([[0]]));
    let sort = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                SELECT count(*) FROM (SELECT randomblob(100000) AS b FROM n ORDER BY b)";
    let said = shelf.query(sort, json!([])).unwrap_err();
    assert_eq!(said, "stopped: this would write more than 30 MiB onto the disk");
}

#[test]
fn a_writer_waits_for_another_and_then_says_so() {
    let shelf = Shelf::furnished(Limits { busy: Duration::from_millis(20), ..Limits::default() });
    let other = Connection::open(shelf.folder.path().join("tables/ops.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO notes (id) VALUES (1)").unwrap();
    let said = shelf.exec("INSERT INTO notes (id) VALUES (2)", json!([])).unwrap_err();
    assert_eq!(said, "another call of this team is writing to its database: try again");
    assert_eq!(shelf.rows("SELECT count(*) FROM notes"), json!([[0]]), "who reads waits for nobody");
    // As a crash leaves it: with a log that nobody has folded into the file.
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(shelf.rows("SELECT count(*) FROM notes"), json!([[1]]));
}

#[test]
fn a_row_of_many_columns_fits_like_any_other() {
    let limits = Limits { answer_bytes_max: 20_000, ..Limits::default() };
    let shelf = Shelf::furnished(limits);
    let columns: Vec<String> = (0..1_000).map(|at| format!("printf('%.*c', 5000, 'x') AS c{at}")).collect();
    let answer = shelf.query(&format!("SELECT {}", columns.join(", ")), json!([])).unwrap();
    assert!(answer.truncated && answer.rows.len() == 1 && answer.rows[0].len() == 1_000);
    let bytes = serde_json::to_string(&answer.rows).unwrap().len();
    assert!(bytes < limits.answer_bytes_max * 2, "{bytes}");
}
