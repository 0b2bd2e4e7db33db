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
    match spent.calls == spent.unpriced {
        true => format!("{calls}, {}", cost(spent)),
        false => format!("{calls}, {} tokens, {}", spent.tokens, cost(spent)),
    }
}

/// What something cost, as far as prices are known: a call without a price is not one that costs nothing.
pub(super) fn cost(spent: Spent) -> String {
    let known = dollars(spent.cost_micro_usd);
    match spent.unpriced {
        0 => known,
        all if all == spent.calls => format!("{} tokens of unknown price", spent.tokens),
        some => format!("{known} and {} of unknown price", base::text::count(some, "call")),
    }
}

/// `$1.2345`.
fn dollars(micro: i64) -> String {
    format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}

#[cfg(test)]
mod tests {
    use store::usage::Spent;

    #[test]
    fn what_has_no_price_is_not_said_to_cost_nothing() {
        let spent = |calls, unpriced, cost_micro_usd| Spent { calls, tokens: 70, cost_micro_usd, unpriced };
        for (spent, cost, shown) in [
            (spent(1, 0, 0), "$0.0000", "1 call, 70 tokens, $0.0000"),
            (spent(2, 0, 1_234_567), "$1.2345", "2 calls, 70 tokens, $1.2345"),
            (spent(2, 2, 0), "70 tokens of unknown price", "2 calls, 70 tokens of unknown price"),
            (
                spent(3, 1, 500),
                "$0.0005 and 1 call of unknown price",
                "3 calls, 70 tokens, $0.0005 and 1 call of unknown price",
            ),
        ] {
            assert_eq!((super::cost(spent).as_str(), super::show(spent).as_str()), (cost, shown));
        }
    }

    #[test]
    fn dollars_have_four_places() {
        assert_eq!(super::dollars(1_234_567), "$1.2345");
        assert_eq!(super::dollars(0), "$0.0000");
    }
}
