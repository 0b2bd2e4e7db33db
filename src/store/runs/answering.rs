//! Turns in the middle of others: who is asked now, by whom, and what.

use anyhow::Result;
use base::{Moment, RunId, TaskId, TeamName, TopicId};

use crate::sql::row;
use crate::{Conn, sql};

/// A turn in the middle of another one that runs: a team that is asked, or a subagent or scout of the asking team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answering {
    /// The turn.
    pub run: RunId,
    /// The team whose session it is.
    pub team: TeamName,
    /// The team whose turn has asked. A team does not ask itself: where it is the same, its subagent or scout works.
    pub asker: TeamName,
    /// What was asked.
    pub body: String,
    /// Since when.
    pub since: Moment,
    /// The task around it, however many turns lie between.
    pub task: TaskId,
    /// Whether that task is a topic's talk, and no work that was given.
    pub in_talk: bool,
    /// Whether that task is asked to end.
    pub stopping: bool,
    /// The topic that it is for.
    pub topic: Option<TopicId>,
}

impl Answering {
    /// Whether it is of the asking team itself.
    pub fn is_own(&self) -> bool {
        self.team == self.asker
    }
}

row! {
    struct Raw {
        run: i64,
        team: String,
        asker: String,
        body: String,
        since: i64,
        task: i64,
        in_talk: bool,
        stopping: bool,
        topic: Option<i64>,
    }
}

/// Every turn in the middle of another one that runs, the oldest first.
pub async fn answering(conn: &mut Conn) -> Result<Vec<Answering>> {
    // What it is asked is the first block of its journal.
    let sql = "WITH RECURSIVE up (run, around) AS (
                 SELECT id, parent FROM runs INDEXED BY unfinished_runs WHERE state = 'running' AND parent IS NOT NULL
                 UNION ALL
                 SELECT up.run, r.parent FROM up JOIN runs r ON r.id = up.around WHERE r.parent IS NOT NULL)
               SELECT r.id AS run, r.team, p.team AS asker, r.started_at AS since,
                 coalesce((SELECT json_extract(content, '$[0].text') FROM journal WHERE run = r.id ORDER BY id LIMIT 1), '')
                   AS body,
                 t.id AS task, t.kind = 'message' AS in_talk, t.stop_asked IS NOT NULL AS stopping, t.topic
               FROM up JOIN runs r ON r.id = up.run JOIN runs p ON p.id = r.parent
                 JOIN runs outermost ON outermost.id = up.around JOIN tasks t ON t.id = outermost.task
               ORDER BY r.id";
    let rows: Vec<Raw> = sql::query_as(sql).fetch_all(conn).await?;
    let answering = |raw: Raw| {
        Ok(Answering {
            run: RunId(raw.run),
            team: raw.team.parse()?,
            asker: raw.asker.parse()?,
            body: raw.body,
            since: raw.since,
            task: TaskId(raw.task),
            in_talk: raw.in_talk,
            stopping: raw.stopping,
            topic: raw.topic.map(TopicId),
        })
    };
    rows.into_iter().map(answering).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{self, Role};
    use crate::runs::{self, Run};
    use crate::tasks::{self, End, Kind, Origin};
    use crate::topics::{self, NamedBy};
    use crate::{Db, teams};

    async fn ask(conn: &mut Conn, parent: RunId, team: &TeamName, text: &str, now: Moment) -> Run {
        let run = runs::enter_within(conn, parent, &serde_json::Value::Null, team, None, now).await.unwrap();
        let content = format!(r#"[{{"text":"{text}"}}]"#);
        journal::append(conn, run.id, None, 1, Role::User, &content, now).await.unwrap();
        run
    }

    #[tokio::test]
    async fn whoever_answers_is_found_with_the_task_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
        let (main, ops, disks): (_, TeamName, TeamName) =
            (TeamName::main(), "ops".parse().unwrap(), "disks".parse().unwrap());
        db.tx("test", async |conn| {
            teams::add(conn, &ops, &main, "", teams::State::Ready, 1).await?;
            teams::add(conn, &disks, &ops, "", teams::State::Ready, 1).await?;
            let place = "discord:7".parse().unwrap();
            let topic = topics::open(conn, &place, "servers", NamedBy::Code, 1).await?;
            let origin = Origin { conversation: Some(place), topic: Some(topic), sender: None };
            tasks::enqueue_message(conn, &origin, topic, 2).await?;
            tasks::give(conn, &tasks::New::of(&ops, Kind::Trigger, "look", &Origin::default()), 2).await?;
            let claimed = tasks::claim(conn, 9, 3, 99).await?;
            let talk = claimed.iter().find(|task| task.team.is_main()).unwrap();
            let work = claimed.iter().find(|task| task.team == ops).unwrap();
            let (outer, given) =
                (runs::enter(conn, talk, Some(topic), 3).await?, runs::enter(conn, work, None, 3).await?);
            assert_eq!(answering(conn).await?, [], "turns of tasks answer nobody");

            let first = ask(conn, outer.id, &ops, "How are they?", 4).await;
            let second = ask(conn, first.id, &disks, "How many?", 5).await;
            let own = ask(conn, given.id, &ops, "Count.", 6).await;
            tasks::ask_to_stop(conn, topic, tasks::StopAsked::Person).await?;
            let one = |run: Run, team: &TeamName, asker: &TeamName, body: &str, since| Answering {
                run: run.id,
                team: team.clone(),
                asker: asker.clone(),
                body: body.into(),
                since,
                task: talk.id,
                in_talk: true,
                stopping: true,
                topic: Some(topic),
            };
            let of_work = Answering {
                task: work.id,
                in_talk: false,
                stopping: false,
                topic: None,
                ..one(own, &ops, &ops, "Count.", 6)
            };
            let found = answering(conn).await?;
            assert_eq!(
                found,
                [one(first, &ops, &main, "How are they?", 4), one(second, &disks, &ops, "How many?", 5), of_work]
            );
            assert_eq!(found.iter().map(Answering::is_own).collect::<Vec<_>>(), [false, false, true]);

            runs::finish(conn, second, End::Done, "", 7).await?;
            assert_eq!(answering(conn).await?.len(), 2, "whoever has answered answers no more");
            Ok(())
        })
        .await
        .unwrap();
    }
}
