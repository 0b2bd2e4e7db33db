//! `/usage`: tokens and cost.

use anyhow::Result;
use base::{Moment, clock};
use store::usage::{self, By, Spent};
use store::{Conn, topics};

use super::{Asked, Command, Who};

pub(super) const USAGE: Command = Command {
    name: "usage",
    about: "Tokens and cost, today and in the last 30 days",
    who: Who::Trusted,
    takes: &[],
    run: |conn, asked| Box::pin(run(conn, asked)),
};

async fn run(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    if asked.admin {
        return hive_usage(conn, asked.now).await;
    }
    let mut lines = vec!["Today, in this conversation:".to_owned()];
    for topic in topics::open_ones(conn, &asked.event.conversation).await? {
        let spent = usage::of_day(conn, clock::day(asked.now), Some(topic.id)).await?;
        if spent.calls > 0 {
            lines.push(format!("- **{}**: {}", crate::welcome::escaped(&topic.name), show(spent)));
        }
    }
    if lines.len() == 1 {
        lines.push("nothing".to_owned());
    }
    Ok(lines.join("\n"))
}

/// The whole hive's.
pub async fn hive_usage(conn: &mut Conn, now: Moment) -> Result<String> {
    let today = clock::day(now);
    let mut lines = vec![format!("Today: {}", show(usage::of_day(conn, today, None).await?))];
    for (title, by) in
        [("By model", By::Model), ("By topic", By::Topic), ("By sender", By::Sender), ("By team", By::Team)]
    {
        let rows = usage::by(conn, by, today - 29, 10).await?;
        if !rows.is_empty() {
            lines.push(format!("\n{title}, last 30 days:"));
            let line =
                |(name, spent): (String, Spent)| format!("- {}: {}", crate::welcome::escaped(&name), show(spent));
            lines.extend(rows.into_iter().map(line));
        }
    }
    Ok(lines.join("\n"))
}

fn show(spent: Spent) -> String {
    let calls = base::text::count(spent.calls, "call");
    let unpriced = match spent.unpriced {
        0 => String::new(),
        number => format!(" and {number} of unknown price"),
    };
    format!("{calls}, {} tokens, {}{unpriced}", spent.tokens, dollars(spent.cost_micro_usd))
}

/// `$1.2345`.
pub fn dollars(micro: i64) -> String {
    format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dollars_have_four_places() {
        assert_eq!(super::dollars(1_234_567), "$1.2345");
        assert_eq!(super::dollars(0), "$0.0000");
    }
}
