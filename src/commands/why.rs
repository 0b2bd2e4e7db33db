//! `/why`: may a tool be used, and which rule says so.

use anyhow::Result;
use channels::OptionKind;
use store::Conn;
use tools::Grant;

use super::{Asked, Command, Takes, Who};
use crate::toolkit;

pub(super) const WHY: Command = Command {
    name: "why",
    about: "Whether I may use a tool when you ask me to, and why",
    who: Who::Trusted,
    takes: &[Takes { name: "tool", about: "its name", kind: OptionKind::Text, required: true }],
    run: |conn, asked| Box::pin(run(conn, asked)),
};

async fn run(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let rights = &asked.facts.rights;
    let grant = Grant { admin: asked.admin, ..rights.read(conn).await? };
    Ok(toolkit::explain(rights.catalogue(), &grant, asked.value("tool").unwrap_or_default()))
}
