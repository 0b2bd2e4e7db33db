//! Which parts of a statement may be: pure. SQLite asks for each while it compiles the statement, also for those inside
//! of views and triggers.

use rusqlite::hooks::AuthAction;

use super::bounds::Access;

/// Functions that reach out of the database. None of them is there; were one added to SQLite, it would still not be.
const FUNCTIONS: &[&str] = &["edit", "fts3_tokenizer", "load_extension", "readfile", "writefile"];

/// Pragmas that tell something, of what their value names if they have one.
const TELLING: &[&str] = &[
    "collation_list",
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that tell something, and with a value change it.
const SETTINGS: &[&str] =
    &["application_id", "data_version", "encoding", "freelist_count", "page_count", "page_size", "user_version"];

/// Those of them that a team may change, and one that lasts until its transaction ends.
const CHANGEABLE: &[&str] = &["application_id", "defer_foreign_keys", "user_version"];

/// Virtual tables that live in the database and nowhere else.
const MODULES: &[&str] = &["fts5", "rtree"];

/// Why a part of a statement may not be. `None`: it may.
pub(super) fn refusal(action: AuthAction<'_>, access: Access) -> Option<String> {
    let word = match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => return None,
        AuthAction::Function { function_name } => {
            let bad = FUNCTIONS.iter().any(|name| function_name.eq_ignore_ascii_case(name));
            return bad.then(|| format!("the function {function_name} is not there"));
        }
        AuthAction::Pragma { pragma_name, pragma_value } => return pragma(pragma_name, pragma_value, access),
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            return Some("the team's database stands alone: no other is attached, and none is written".to_owned());
        }
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            return Some("a call is one transaction by itself: leave BEGIN, COMMIT and SAVEPOINT out".to_owned());
        }
        AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. } => {
            return Some("what is temporary is gone when the call ends: use WITH, or a table".to_owned());
        }
        AuthAction::CreateVtable { module_name, .. } | AuthAction::DropVtable { module_name, .. } => {
            let known = MODULES.iter().any(|name| module_name.eq_ignore_ascii_case(name));
            if !known {
                return Some(format!("virtual tables are {} here", MODULES.join(" or ")));
            }
            "virtual tables are made"
        }
        AuthAction::Insert { .. } | AuthAction::Update { .. } | AuthAction::Delete { .. } => "rows are changed",
        AuthAction::CreateTable { .. }
        | AuthAction::CreateIndex { .. }
        | AuthAction::CreateView { .. }
        | AuthAction::CreateTrigger { .. }
        | AuthAction::DropTable { .. }
        | AuthAction::DropIndex { .. }
        | AuthAction::DropView { .. }
        | AuthAction::DropTrigger { .. }
        | AuthAction::AlterTable { .. }
        | AuthAction::Reindex { .. }
        | AuthAction::Analyze { .. } => "tables are changed",
        _ => return Some("this is not done here".to_owned()),
    };
    (access == Access::Read).then(|| format!("here is only read, and {word} by this"))
}

fn pragma(name: &str, value: Option<&str>, access: Access) -> Option<String> {
    let among = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let fits = among(TELLING)
        || among(SETTINGS) && value.is_none()
        || among(CHANGEABLE) && value.is_some() && access == Access::Write;
    (!fits).then(|| format!("PRAGMA {name} is not used here, or not with a value"))
}
