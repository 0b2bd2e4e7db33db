//! How SQLite carries out the statements that this crate's tests run: none reads tasks that are over to find those
//! that are not.
//!
//! A hive keeps what was done for months. A statement that walks over all of it takes longer every day, and holds up
//! every other writer while it does.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rusqlite::Connection;

/// Indexes of tasks that hold what is open and nothing else: they may be walked through.
const OF_OPEN_TASKS: [&str; 8] = [
    "one_running_task_per_lane",
    "one_queued_message_task_per_lane",
    "tasks_to_stop",
    "claimable_tasks",
    "open_tasks_of_team",
    "queued_lanes",
    "put_back_tasks",
    "open_work_of_topics",
];

thread_local! {
    /// The statements of this thread that were looked at: each is, once.
    static SEEN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Looks at the plan of a statement of ours.
///
/// # Panics
/// Where it walks over tasks that are over.
pub(crate) fn look(conn: &Connection, text: &str) {
    let mentions = text.contains("tasks") && !text.contains("sqlite_schema");
    if mentions && SEEN.with_borrow_mut(|seen| seen.insert(text.to_owned())) {
        let walks = walks(conn, text);
        assert!(walks.is_empty(), "{walks:?}:\n{text}");
    }
}

/// The lines of a statement's plan that walk over tasks which are over.
fn walks(conn: &Connection, text: &str) -> Vec<String> {
    let plan = |mut statement: rusqlite::Statement<'_>| {
        // A plan is the same whatever the values are: they need not be bound.
        let lines = statement.raw_query().mapped(|row| row.get::<_, String>("detail"));
        lines.collect::<rusqlite::Result<Vec<String>>>()
    };
    let plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {text}")).and_then(plan);
    let names = names(text);
    let walks = |line: &String| {
        let Some(scanned) = line.strip_prefix("SCAN ") else { return false };
        let mut words = scanned.split_whitespace();
        let table = words.next().unwrap_or_default();
        let index = words.skip_while(|word| *word != "INDEX").nth(1).unwrap_or_default();
        names.contains(table) && !OF_OPEN_TASKS.contains(&index)
    };
    plan.expect("a statement has a plan").into_iter().filter(walks).collect()
}

/// What a statement calls the table: by its name, or by what it writes behind that name.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let alias = |pair: &[&str]| pair[0] == "tasks" && pair[1].chars().all(char::is_lowercase);
    let aliases = words.windows(2).filter(|pair| alias(pair)).map(|pair| pair[1]);
    std::iter::once("tasks").chain(aliases).collect()
}

#[test]
fn a_walk_over_what_is_done_is_noticed() {
    let conn = Connection::open_in_memory().unwrap();
    let tables = "CREATE TABLE tasks (id INTEGER PRIMARY KEY, state TEXT, topic INTEGER);
                  CREATE INDEX claimable_tasks ON tasks (id) WHERE state = 'queued';
                  CREATE INDEX tasks_of_topic ON tasks (topic);";
    conn.execute_batch(tables).unwrap();
    for (text, walked) in [
        ("SELECT id FROM tasks WHERE state = 'running'", true),
        ("UPDATE tasks SET state = 'done' WHERE state = $1", true),
        ("SELECT t.id FROM tasks t WHERE t.state = 'running'", true),
        ("SELECT count(*) FROM tasks", true),
        ("SELECT id FROM tasks INDEXED BY claimable_tasks WHERE state = 'queued'", false),
        ("SELECT id FROM tasks WHERE topic = $1", false),
        ("SELECT id FROM tasks WHERE id = $1", false),
    ] {
        assert_eq!(!walks(&conn, text).is_empty(), walked, "{text}");
    }
}
