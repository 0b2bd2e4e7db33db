//! The live message of a topic whose teams are at work: what it says, and its buttons.
//!
//! Teams work at tasks, and at what they are asked in the middle of a turn. `Stop` ends what `/stop` ends of it, `Details`
//! says who does what. Whoever clicks is judged; a board whose work is over stops nothing that began after it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use base::{Moment, OutboxId, TopicId, clock};
use channels::{Button, Emphasis, Inbound};
use org::trust::Verdict;
use store::boards::{self, Line, Progress, Sort, Tally};
use store::tasks::StopAsked;
use store::topics::Topic;
use store::{Conn, tasks, topics};

use super::usage::cost;
use crate::welcome::escaped;

/// What begins the data of a board's button: `board:WHAT:ID`.
const WORD: &str = "board";
/// Most tasks that a board shows: with [`TASK_CHARS`], names and markup it stays one message of Discord's, of 2,000
/// characters.
pub const LINES_MAX: u32 = 8;
/// How much of a task and of a topic's name a board shows, in characters.
const TASK_CHARS: usize = 60;
/// Most tasks that the details show.
const DETAILS_MAX: u32 = 20;
/// How much of a task the details show, in characters.
const DETAIL_CHARS: usize = 100;

/// What a board says in Markdown while work is under way, and when it will say something else if no row changes.
pub fn at_work(topic: &Topic, tally: &Tally, lines: &[Line], now: Moment) -> (String, Option<Moment>) {
    let mut said = vec![format!("Teams at work on **{}**:", name(topic))];
    let mut next: Option<Moment> = None;
    for line in lines {
        let (how_long, until) = how_long(line.progress, now);
        next = [next, until].into_iter().flatten().min();
        said.push(format!("- {}, {}{how_long}: {}", who(line), state(line), what(line, TASK_CHARS)));
    }
    said.extend(rest(tally, lines.len()));
    (said.join("\n"), next)
}

/// What is said below the first `shown` lines: how many more there are, and what has ended.
fn rest(tally: &Tally, shown: usize) -> Vec<String> {
    let more = tally.open() - shown as i64;
    let more = (more > 0).then(|| format!("… and {more} more."));
    more.into_iter().chain(ended(tally).map(|ended| format!("\n{ended} so far."))).collect()
}

/// What a board says in Markdown when nothing is left to do.
pub fn over(topic: &Topic, tally: &Tally) -> String {
    let name = name(topic);
    match ended(tally) {
        Some(ended) => format!("Teams are through with **{name}**: {ended}."),
        None => format!("Teams are through with **{name}**."),
    }
}

fn name(topic: &Topic) -> String {
    escaped(&base::text::headline(&topic.name, TASK_CHARS))
}

/// The buttons below a board while work is under way.
pub fn buttons(board: OutboxId) -> Vec<Vec<Button>> {
    let button = |label: &str, what: &str, emphasis| Button {
        label: label.to_owned(),
        data: format!("{WORD}:{what}:{board}"),
        emphasis,
    };
    vec![vec![button("Stop", "stop", Emphasis::Danger), button("Details", "details", Emphasis::Plain)]]
}

/// `2 done, 1 failed`; `None` where nothing has ended.
fn ended(tally: &Tally) -> Option<String> {
    let counts = [(tally.done, "done"), (tally.failed, "failed"), (tally.cancelled, "stopped")];
    let said: Vec<String> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn who(line: &Line) -> String {
    match line.sort {
        Sort::Subagent => format!("a subagent of **{}**", line.team),
        Sort::Task | Sort::Bootstrap | Sort::Question => format!("**{}**", line.team),
    }
}

fn state(line: &Line) -> String {
    match line.progress {
        Progress::Working(_) => does(line).to_owned(),
        Progress::Stopping => "stopping".to_owned(),
        Progress::Queued(_) => "queued".to_owned(),
        Progress::Waiting(until) => format!("waits until {}", clock::show(until)),
    }
}

fn does(line: &Line) -> &'static str {
    match line.sort {
        Sort::Question => "answering",
        Sort::Task | Sort::Bootstrap | Sort::Subagent => "working",
    }
}

fn what(line: &Line, chars: usize) -> String {
    match line.sort {
        Sort::Bootstrap => "setting itself up".to_owned(),
        Sort::Task | Sort::Question | Sort::Subagent => escaped(&base::text::headline(&line.body, chars)),
    }
}

/// ` (3m)`, and until when that stays true: an hour's work is not worth an edit every second.
fn how_long(progress: Progress, now: Moment) -> (String, Option<Moment>) {
    const MINUTE: i64 = 60_000;
    const TEN_MINUTES: i64 = 10 * MINUTE;
    const HOUR: i64 = 60 * MINUTE;
    let (Progress::Working(since) | Progress::Queued(since)) = progress else { return (String::new(), None) };
    let passed = (now - since).max(0);
    let step = match passed {
        0..MINUTE => return (" (under 1m)".to_owned(), Some(since + MINUTE)),
        MINUTE..TEN_MINUTES => MINUTE,
        TEN_MINUTES..HOUR => TEN_MINUTES,
        _ => HOUR,
    };
    let shown = passed - passed % step;
    (format!(" ({})", clock::show_span(clock::millis(shown))), Some(since + shown + step))
}

/// What a board's button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// End the work.
    Stop,
    /// Say who does what.
    Details,
}

/// Which board a button belongs to, and what it asks for; `None` where it is none of ours.
pub(super) fn of_button(data: &str) -> Option<(OutboxId, Wish)> {
    let (what, id) = data.strip_prefix(WORD)?.strip_prefix(':')?.split_once(':')?;
    let wish = match what {
        "stop" => Wish::Stop,
        "details" => Wish::Details,
        _ => return None,
    };
    Some((OutboxId(id.parse().ok()?), wish))
}

/// Somebody pressed a button. Words for them.
pub(super) async fn press(
    conn: &mut Conn,
    event: &Inbound,
    verdict: Verdict,
    (id, wish): (OutboxId, Wish),
    now: Moment,
) -> Result<String> {
    if !matches!(verdict, Verdict::Trusted { .. }) {
        return Ok("That is for people I know.".to_owned());
    }
    let over = || "That work is over.".to_owned();
    let Some(board) = boards::get(conn, id).await? else { return Ok(over()) };
    // A button that was carried elsewhere: there, somebody else may be trusted.
    let topic = topics::get(conn, board.topic).await?.filter(|topic| topic.conversation == event.conversation);
    let Some(topic) = topic else { return Ok("This button belongs to another conversation.".to_owned()) };
    let tally = boards::tally(conn, topic.id, board.first_task).await?;
    match wish {
        _ if tally.open() == 0 => Ok(over()),
        Wish::Stop => stop(conn, &topic, now).await,
        Wish::Details => details(conn, &topic, &tally, now).await,
    }
}

async fn stop(conn: &mut Conn, topic: &Topic, now: Moment) -> Result<String> {
    let (id, name) = (topic.id, escaped(&topic.name));
    let asked = boards::asked_for(conn, topic.id).await?;
    let mut stopped = Vec::new();
    match super::stop::stop_work(conn, topic, now).await? {
        0 => {}
        1 => stopped.push("a task of a team".to_owned()),
        count => stopped.push(format!("{count} tasks of teams")),
    }
    // What a topic's own turn asks ends with that turn, and with nothing less.
    if asked.iter().any(|asked| asked.in_talk) && tasks::ask_to_stop(conn, topic.id, StopAsked::Person).await? {
        stopped.push("the turn that asks teams".to_owned());
    }
    Ok(match stopped.is_empty() {
        true => "Nothing is left to be stopped.".to_owned(),
        false => format!("Stopping {} for `{id}` **{name}**.", stopped.join(" and ")),
    })
}

async fn details(conn: &mut Conn, topic: &Topic, tally: &Tally, now: Moment) -> Result<String> {
    let mut said = vec![format!("Teams at work on `{}` **{}**:", topic.id, escaped(&topic.name))];
    let lines = work(conn, topic.id, now).await?;
    let rest = rest(tally, lines.len());
    said.extend(lines.into_iter().chain(rest));
    Ok(said.join("\n"))
}

/// One line for each task and question. What else waits for a team is told once for each team that has a task.
async fn work(conn: &mut Conn, topic: TopicId, now: Moment) -> Result<Vec<String>> {
    let (mut said, mut told) = (Vec::new(), BTreeSet::new());
    for line in boards::lines(conn, topic, now, DETAILS_MAX).await? {
        let mut facts = vec![match line.progress {
            Progress::Working(since) | Progress::Queued(since) => {
                format!("{} for {}, since {}", state(&line), span(now - since), clock::show(since))
            }
            Progress::Stopping | Progress::Waiting(_) => state(&line),
        }];
        if let Some(run) = line.run {
            let (steps, spent) = boards::effort(conn, run).await?;
            if spent.calls > 0 || steps > 0 {
                facts.extend([base::text::count(steps, "step"), cost(spent)]);
            }
        }
        let is_task = matches!(line.sort, Sort::Task | Sort::Bootstrap);
        if is_task && told.insert(line.team.clone()) {
            facts.push(format!("{} in its queue", tasks::queued_of(conn, &line.team).await?));
        }
        said.push(format!("- {}, {}: {}", who(&line), facts.join(", "), what(&line, DETAIL_CHARS)));
    }
    Ok(said)
}

fn span(ms: i64) -> String {
    clock::show_span(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use channels::{Addressed, Content, ConversationId, Place, Sender};
    use store::Db;
    use store::outbox::{self, New};
    use store::tasks::{Kind, New as Given, Origin};
    use store::topics::{NamedBy, State};

    use super::*;

    fn topic() -> Topic {
        Topic {
            id: TopicId(1),
            conversation: "discord:7".parse().unwrap(),
            name: "the *servers*".into(),
            summary: String::new(),
            state: State::Active,
            named_by: NamedBy::Code,
            last_activity_at: 0,
        }
    }

    fn line(sort: Sort, progress: Progress, body: &str) -> Line {
        Line { run: None, team: "ops".parse().unwrap(), sort, body: body.to_owned(), progress }
    }

    #[test]
    fn a_board_says_who_is_how_far_with_what() {
        let lines = [
            line(Sort::Task, Progress::Working(0), "Check the **disks**.\nAll of them."),
            line(Sort::Task, Progress::Stopping, "x"),
            line(Sort::Question, Progress::Working(0), "How are they?"),
            line(Sort::Subagent, Progress::Working(0), "Count."),
            line(Sort::Task, Progress::Waiting(120_000), "y"),
            line(Sort::Bootstrap, Progress::Queued(50_000), "our words"),
        ];
        let tally = Tally { running: 2, queued: 4, asked: 2, done: 2, failed: 1, cancelled: 0 };
        let (text, next) = at_work(&topic(), &tally, &lines, 61_000);
        let expected = "Teams at work on **the \\*servers\\***:\n\
                        - **ops**, working (1m): Check the \\*\\*disks\\*\\*.\n\
                        - **ops**, stopping: x\n\
                        - **ops**, answering (1m): How are they?\n\
                        - a subagent of **ops**, working (1m): Count.\n\
                        - **ops**, waits until 1970-01-01 00:02 UTC: y\n\
                        - **ops**, queued (under 1m): setting itself up\n\
                        … and 2 more.\n\n\
                        2 done, 1 failed so far.";
        assert_eq!((text.as_str(), next), (expected, Some(110_000)));
        let end = Tally { running: 0, queued: 0, asked: 0, ..tally };
        assert_eq!(over(&topic(), &end), "Teams are through with **the \\*servers\\***: 2 done, 1 failed.");
        assert_eq!(over(&topic(), &Tally::default()), "Teams are through with **the \\*servers\\***.");
    }

    #[test]
    fn how_long_is_told_the_more_coarsely_the_longer_it_is() {
        let shown = |ms: i64| how_long(Progress::Working(1_000), 1_000 + ms);
        for (passed, text, until) in [
            (0, " (under 1m)", 61_000),
            (59_999, " (under 1m)", 61_000),
            (60_000, " (1m)", 121_000),
            (9 * 60_000 + 5, " (9m)", 601_000),
            (19 * 60_000, " (10m)", 1_201_000),
            (119 * 60_000, " (1h)", 7_201_000),
            (-5_000, " (under 1m)", 61_000),
        ] {
            assert_eq!(shown(passed), (text.to_owned(), Some(until)), "{passed} ms");
        }
    }

    #[test]
    fn the_longest_board_is_one_message_on_every_platform() {
        let many = 99_999;
        let tally = Tally { running: many, queued: many, asked: many, done: many, failed: many, cancelled: many };
        let topic = Topic { name: "*".repeat(500), ..topic() };
        // Only a task waits, so no subagent's line is the longer one of the two.
        for (sort, progress) in [(Sort::Task, Progress::Waiting(0)), (Sort::Subagent, Progress::Working(0))] {
            let long = line(sort, progress, &"*".repeat(500));
            let long = Line { team: "x".repeat(48).parse().unwrap(), ..long };
            let (text, _) = at_work(&topic, &tally, &vec![long; LINES_MAX as usize], 100 * 86_400_000);
            for kind in [channels::Kind::Discord, channels::Kind::Telegram] {
                let pieces = channels::render::pieces(kind, &text, Default::default());
                assert_eq!(pieces.len(), 1, "{kind}, {sort:?}");
                assert!(pieces[0].files.is_empty(), "{kind}, {sort:?}");
            }
        }
    }

    #[test]
    fn a_button_says_which_board_it_belongs_to() {
        let data: Vec<String> = buttons(OutboxId(7)).concat().into_iter().map(|button| button.data).collect();
        assert_eq!(
            data.iter().map(|data| of_button(data)).collect::<Vec<_>>(),
            [Some((OutboxId(7), Wish::Stop)), Some((OutboxId(7), Wish::Details))]
        );
        for other in ["board:7", "board:stop:x", "board:go:7", "boards:stop:7", "answer:1:2", ""] {
            assert_eq!(of_button(other), None, "{other}");
        }
    }

    fn click(conversation: &ConversationId) -> Inbound {
        Inbound {
            conversation: conversation.clone(),
            place: Place::Direct,
            event_id: "c".into(),
            sender: Sender { id: "discord:5".parse().unwrap(), name: "eve".into() },
            sent_at_ms: 1,
            addressed: Addressed::Explicit,
            content: Content::Click { data: String::new(), message_id: "m".into(), handle: None },
        }
    }

    #[tokio::test]
    async fn whoever_clicks_is_judged_and_so_is_where() {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
        let (here, elsewhere): (ConversationId, ConversationId) =
            ("discord:7".parse().unwrap(), "discord:8".parse().unwrap());
        let (trusted, admin) = (Verdict::Trusted { admin: false }, Verdict::Trusted { admin: true });
        db.tx("test", async |conn| {
            let topic = topics::open(conn, &here, "servers", NamedBy::Code, 1).await?;
            let origin = Origin { conversation: Some(here.clone()), topic: Some(topic), sender: None };
            let task = tasks::give(conn, &Given::of(&base::TeamName::main(), Kind::Handoff, "x", &origin), 2).await?;
            let new = New::message(&here, channels::Action::Delete { message_id: String::new() });
            let id = outbox::draft(conn, &new, 3).await?;
            boards::begin(conn, id, topic, task, 3).await?;
            for (place, verdict, expected) in [
                (&here, Verdict::Unknown, "That is for people I know."),
                (&here, Verdict::Denied, "That is for people I know."),
                (&elsewhere, admin, "This button belongs to another conversation."),
                (&here, trusted, "Stopping a task of a team for `1` **servers**."),
                (&here, trusted, "That work is over."),
            ] {
                assert_eq!(press(conn, &click(place), verdict, (id, Wish::Stop), 4).await?, expected);
            }
            Ok(())
        })
        .await
        .unwrap();
    }
}
