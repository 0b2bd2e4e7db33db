//! `/status`: what the hive is doing.

use anyhow::Result;
use base::{Moment, clock};
use store::{Conn, boards, inbox, outbox, tasks, topics};

use super::{Asked, Command, Who};

pub(super) const STATUS: Command = Command {
    name: "status",
    about: "What I am doing",
    who: Who::Trusted,
    takes: &[],
    run: |conn, asked| Box::pin(run(conn, asked)),
};

async fn run(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let mut lines = Vec::new();
    for topic in topics::open_ones(conn, &asked.event.conversation).await? {
        let named = format!("- `{}` **{}**", topic.id, crate::welcome::escaped(&topic.name));
        for (task, state) in tasks::open_of_topic(conn, topic.id).await? {
            lines.push(format!("{named}: task {task} is {state}"));
        }
        for asked in boards::asked_for(conn, topic.id).await? {
            let (team, task) = (&asked.team, asked.task);
            lines.push(match asked.is_own() {
                true => format!("{named}: a subagent of **{team}** works in task {task}"),
                false => format!("{named}: **{team}** answers **{}** in task {task}", asked.asker),
            });
        }
    }
    if lines.is_empty() {
        lines.push("Nothing is running in this conversation.".to_owned());
    }
    if asked.admin {
        let up = clock::show_span(clock::millis(asked.now - asked.facts.started_at));
        lines.push(format!("\nUp for {up}. The model is `{}`.", asked.facts.model));
        lines.push(hive_status(conn).await?);
    }
    Ok(lines.join("\n"))
}

/// The whole hive, in a few lines.
pub async fn hive_status(conn: &mut Conn) -> Result<String> {
    let (queued, running) = tasks::load(conn).await?;
    let (inbox, outbox) = (inbox::counts(conn).await?, outbox::counts(conn).await?);
    let mut lines = vec![
        format!("Tasks: {running} running, {queued} queued."),
        format!("Came in: {}.", show_counts(&inbox)),
        format!("Went out: {}.", show_counts(&outbox)),
    ];
    for (conversation, state, note, at) in outbox::losses(conn, 5).await? {
        lines.push(format!("- {state}: to `{conversation}`, {}: {note}", clock::show(at as Moment)));
    }
    Ok(lines.join("\n"))
}

/// `3 sent, 1 dead`, or `nothing`.
pub fn show_counts(counts: &[(String, i64)]) -> String {
    let shown: Vec<_> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") }
}
