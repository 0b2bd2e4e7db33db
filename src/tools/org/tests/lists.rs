//! Lists are whole however long they become.

use super::*;

/// What a tool answers, as a model gets it.
async fn asked_of(hive: &Hive, tool: &str, input: Value) -> Value {
    let executor = hive.world.executor_of(hive.world.catalogue(Policy::default()));
    let step = 1 + i64::from(hive.calls.fetch_add(1, Ordering::Relaxed));
    let call = Call { step, ..hive.world.call() };
    let done = executor.run_calls(&call, vec![asked("1", tool, input)]).await.unwrap().remove(0);
    assert!(!done.is_error, "{}", done.content);
    serde_json::from_str(&done.content).unwrap_or_else(|error| panic!("{tool}: {error}: {:.300}", done.content))
}

#[tokio::test(start_paused = true)]
async fn two_hundred_long_results_are_a_list_that_can_be_read() {
    let hive = Hive::new().await;
    let now = hive.world.clock.now();
    let work = async |conn: &mut Conn| {
        for number in 0..200 {
            let (ops, main) = (team("ops"), TeamName::main());
            let new = tasks::New {
                giver: Some(&main),
                ..tasks::New::of(&ops, tasks::Kind::Delegate, "x", &hive.world.origin)
            };
            let task = tasks::give(conn, &new, now).await?;
            tasks::claim(conn, 9, now, now + 60_000).await?;
            let result = format!("{number}: {}", "盘".repeat(500));
            assert!(tasks::finish_with(conn, task, End::Done, "", &result, now).await?);
        }
        Ok(())
    };
    hive.world.db.tx("work", work).await.unwrap();
    for (limit, shown) in [(50, 200), (200, 60)] {
        let listed = asked_of(&hive, "list_completed_tasks", json!({"team": "ops", "limit": limit})).await;
        let rows = listed.as_array().unwrap();
        assert_eq!(rows.len(), limit);
        let chars = |row: &Value| row["result_snippet"].as_str().unwrap().chars().count();
        assert!(rows.iter().all(|row| chars(row) == shown), "{limit}: {}", chars(&rows[0]));
        assert!(rows[0]["result_snippet"].as_str().unwrap().starts_with("199: "), "the newest first");
    }
}

#[tokio::test(start_paused = true)]
async fn many_teams_are_listed_whole_with_less_of_each() {
    let hive = Hive::new().await;
    let now = hive.world.clock.now();
    let fill = async |conn: &mut Conn| {
        for number in 0..60 {
            let (name, main) = (team(&format!("team-{number}")), TeamName::main());
            teams::add(conn, &name, &main, &"Keeps things. ".repeat(70), State::Ready, now).await?;
            for _ in 0..30 {
                let task = "Look at it very carefully. ".repeat(20);
                tasks::give(conn, &tasks::New::of(&name, tasks::Kind::Delegate, &task, &hive.world.origin), now)
                    .await?;
            }
        }
        Ok(())
    };
    hive.world.db.tx("fill", fill).await.unwrap();
    let listed = asked_of(&hive, "list_teams", json!({})).await;
    let described = |row: &Value| row["description"].as_str().unwrap().chars().count();
    assert_eq!(listed.as_array().unwrap().len(), 62);
    assert_eq!(listed.as_array().unwrap().iter().map(described).max(), Some(300));
    let all = asked_of(&hive, "get_status", json!({})).await;
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 62);
    let busy: Vec<&Value> = all.iter().filter(|row| row["queue_depth"] == json!(30)).collect();
    assert_eq!(busy.len(), 60);
    assert!(busy.iter().all(|row| !row["pending_tasks"].as_array().unwrap().is_empty()));
    // One alone has all that is ever shown.
    let one = asked_of(&hive, "get_status", json!({"team": "team-1"})).await;
    assert_eq!(one["pending_tasks"].as_array().unwrap().len(), 20);
    assert_eq!(one["pending_tasks"][0]["task"].as_str().unwrap().chars().count(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_none_is_not_repeated_as_it_is() {
    let hive = Hive::new().await;
    let bad = format!("\u{1b}[2J{}", "A".repeat(5_000));
    for (tool, field) in [("get_status", "team"), ("shutdown_team", "name"), ("send_message", "target")] {
        let mut input = json!({ (field): bad });
        if tool == "send_message" {
            input["message"] = json!("hi");
        }
        let why = hive.say("main", tool, input).await.unwrap_err();
        assert!(why.contains("is not a team name") && why.len() < 300 && !why.contains('\u{1b}'), "{tool}: {why}");
    }
}
