//! Questions, notices and thoughts, from the call to the rows.

use base::Secret;
use channels::{Action, ConversationId, Kind, SenderId};
use org::trust::{Policy, Verdict};
use serde_json::{Value, json};
use store::questions::Question;
use store::{Bell, Conn, Db, outbox};

use crate::permission::Grant;
use crate::testing::{START, World, asked};
use crate::{Call, Done};

/// Waits until the newest question is open, on paused time.
async fn question(db: &Db) -> Question {
    let mut bell = db.changes(Bell::Questions);
    loop {
        bell.mark_unchanged();
        let newest = async |conn: &mut Conn| {
            let mut newest = None;
            while let Some(found) =
                store::questions::get(conn, newest.as_ref().map_or(1, |q: &Question| q.id + 1)).await?
            {
                newest = Some(found);
            }
            Ok(newest)
        };
        if let Some(found) = db.read(newest).await.unwrap().filter(|found| found.answer.is_none()) {
            return found;
        }
        bell.changed().await.unwrap();
    }
}

/// What the outbox says, in order: where, the text without markup, the buttons.
async fn said(db: &Db) -> Vec<(String, String, Vec<String>)> {
    let rows = async |conn: &mut Conn| {
        let mut rows = Vec::new();
        while let Some(row) = outbox::get(conn, base::OutboxId(rows.len() as i64 + 1)).await? {
            rows.push(row);
        }
        Ok(rows)
    };
    let shown = |row: outbox::Row| {
        let (Action::Send(piece) | Action::Edit { piece, .. }) = row.action else { panic!("nothing is deleted") };
        let buttons = piece.buttons.into_iter().flatten().map(|button| button.label).collect();
        (row.conversation.to_string(), piece.plain, buttons)
    };
    db.read(rows).await.unwrap().into_iter().map(shown).collect()
}

/// Calls a tool in a turn of its own making, while somebody does something about its question.
async fn during<T>(
    world: &World,
    call: Call,
    tool: &str,
    input: Value,
    act: impl AsyncFnOnce(Question) -> T,
) -> (Done, T) {
    let executor = world.executor_of(world.catalogue(Policy::default()));
    let run = executor.run_calls(&call, vec![asked("1", tool, input)]);
    let act = async { act(question(&world.db).await).await };
    let (done, acted) = tokio::join!(run, act);
    (done.unwrap().remove(0), acted)
}

fn json_of(done: &Done) -> Value {
    assert!(!done.is_error, "{}", done.content);
    serde_json::from_str(&done.content).unwrap()
}

async fn press(db: &Db, question: &Question, option: usize, sender: i64, admin: bool) -> Option<String> {
    let (sender, verdict) = (SenderId::new(Kind::Telegram, sender), Verdict::Trusted { admin });
    let button = (question.id, option);
    db.tx("press", async |conn| org::questions::press(conn, button, &sender, verdict, START).await).await.unwrap()
}

async fn say(db: &Db, question: &Question, text: &str, sender: i64) -> Option<String> {
    let (sender, verdict) = (SenderId::new(Kind::Telegram, sender), Verdict::Trusted { admin: false });
    let say = async |conn: &mut Conn| org::questions::say(conn, question, text, &sender, verdict, START).await;
    db.tx("say", say).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_thought_has_a_place_and_a_length() {
    let world = World::new().await;
    assert_eq!(world.ask("think", json!({"thought": "é".repeat(8_000)})).await.content, "Go on.");
    let long = world.ask("think", json!({"thought": "é".repeat(8_001)})).await;
    assert!(long.is_error && long.content.contains("8001 characters"), "{}", long.content);
}

#[tokio::test(start_paused = true)]
async fn a_notice_goes_where_the_turn_came_from() {
    let world = World::new().await;
    world.scrub.learn(&Secret::new("hunter2hunter2"));
    let done = world.ask("notify", json!({"title": " Disk\nfull ", "body": "Of hunter2hunter2 and **more**."})).await;
    assert_eq!(json_of(&done), json!({"success": true, "sent_to": ["telegram:-100"]}));
    let said = said(&world.db).await;
    assert_eq!(said.len(), 1);
    assert!(said[0].1.starts_with("Disk full\nOf ") && !said[0].1.contains("hunter2"), "{}", said[0].1);
    for (input, why) in [
        (json!({"title": " "}), "needs a title"),
        (json!({"title": "x".repeat(101)}), "the title has 101 characters"),
        (json!({"title": "x", "body": "x".repeat(501)}), "the body has 501 characters"),
    ] {
        let done = world.ask("notify", input).await;
        assert!(done.is_error && done.content.contains(why), "{}", done.content);
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_s_placeholder_does_not_carry_it_into_a_notice() {
    let world = World::new().await;
    let (team, value) = (base::TeamName::main(), Secret::new("correct-horse-battery"));
    let put = async |conn: &mut Conn| Ok(world.vault.put_secret(conn, &team, "API_KEY", &value, "test").await.is_ok());
    assert!(world.db.tx("put", put).await.unwrap());
    let done = world.ask("notify", json!({"title": "Key", "body": "It is {{secret:API_KEY}}."})).await;
    assert!(!done.is_error, "{}", done.content);
    assert!(!said(&world.db).await[0].1.contains("correct-horse"));
}

#[tokio::test(start_paused = true)]
async fn a_notice_of_a_turn_that_no_conversation_caused_goes_to_the_admins() {
    let world = World::new().await;
    let policy =
        Policy { admins: ["discord:7", "telegram:8"].map(|id| id.parse().unwrap()).into(), ..Policy::default() };
    let call = Call { origin: store::tasks::Origin::default(), ..world.call() };
    for (policy, expected) in [
        (policy, Ok(["discord:@7", "telegram:8"].map(str::to_owned).to_vec())),
        (Policy::default(), Err("there is nobody to tell")),
    ] {
        let executor = world.executor_of(world.catalogue(policy));
        let call = Call { step: 1 + i64::try_from(world.rows().await.len()).unwrap(), ..call.clone() };
        let done =
            executor.run_calls(&call, vec![asked("1", "notify", json!({"title": "x"}))]).await.unwrap().remove(0);
        match expected {
            Ok(places) => assert_eq!(json_of(&done)["sent_to"], json!(places)),
            Err(why) => assert!(done.is_error && done.content.contains(why), "{}", done.content),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_sort_of_question_gets_its_sort_of_answer() {
    let two =
        json!([{"label": "Blue", "value": "b", "description": "as the sky", "variant": "success"}, {"label": "Red"}]);
    type Act = fn(&Db, Question) -> futures::future::BoxFuture<'_, ()>;
    let first: Act = |db, question| Box::pin(async move { drop(press(db, &question, 0, 1, false).await) });
    let second: Act = |db, question| Box::pin(async move { drop(press(db, &question, 1, 1, false).await) });
    let both: Act = |db, question| {
        Box::pin(async move {
            for option in [0, 1, 0, 0, 2] {
                assert_eq!(press(db, &question, option, 1, false).await, None);
            }
        })
    };
    let words: Act = |db, question| Box::pin(async move { drop(say(db, &question, "  In the hall. ", 1).await) });
    for (input, act, answer) in [
        (json!({"prompt_type": "confirm", "question": "Go?"}), first, json!("yes")),
        (json!({"prompt_type": "confirm", "question": "Go?"}), second, json!("no")),
        (json!({"prompt_type": "select", "question": "Which?", "options": two}), first, json!("b")),
        (json!({"prompt_type": "select", "question": "Which?", "options": two}), second, json!("Red")),
        (json!({"prompt_type": "multi_select", "question": "Which?", "options": two}), both, json!(["b", "Red"])),
        (json!({"prompt_type": "text", "question": "Where?"}), words, json!("In the hall.")),
    ] {
        let world = World::new().await;
        let db = world.db.clone();
        let (done, ()) = during(&world, world.call(), "prompt_human", input, async |found| act(&db, found).await).await;
        assert_eq!(json_of(&done), json!({"answered": true, "answer": answer, "by": "telegram:1"}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_says_what_it_is_about_and_how_to_answer_it() {
    let world = World::new().await;
    let input = json!({"prompt_type": "text", "question": "Where is\nit?", "description": "The key."});
    let (done, ()) = during(&world, world.call(), "prompt_human", input, async |question| {
        drop(press(&world.db, &question, 0, 1, false).await);
    })
    .await;
    let expected = json!({"answered": false, "answer": null, "by": "telegram:1",
                          "reason": "they gave no answer: go on without one"});
    assert_eq!(json_of(&done), expected);
    let said = said(&world.db).await;
    let asked = "Where is it?\nThe key.\n\nAnswer by replying to this message.";
    assert_eq!(said[0], ("telegram:-100".to_owned(), asked.to_owned(), vec!["No answer".to_owned()]));
    assert_eq!(said[1].1, format!("{asked}\n\nNo answer, says telegram:1."));
    assert!(said[1].2.is_empty(), "the buttons go with the answer");
}

#[tokio::test(start_paused = true)]
async fn ticks_are_shown_wherever_the_question_is() {
    let world = World::new().await;
    let input =
        json!({"prompt_type": "multi_select", "question": "Which?", "options": [{"label": "A"}, {"label": "B"}]});
    let (done, ()) = during(&world, world.call(), "prompt_human", input, async |question| {
        assert_eq!(press(&world.db, &question, 1, 1, false).await, None);
        let stranger = press(&world.db, &question, 2, 9, false).await;
        assert_eq!(stranger.as_deref(), Some("Only `telegram:1` or an admin may answer that."));
        assert_eq!(press(&world.db, &question, 2, 5, true).await, None, "an admin may");
    })
    .await;
    assert_eq!(json_of(&done)["answer"], json!(["B"]));
    let buttons: Vec<_> = said(&world.db).await.into_iter().map(|(_, _, buttons)| buttons).collect();
    assert_eq!(buttons, [vec!["☐ A", "☐ B", "Done"], vec!["☐ A", "☑ B", "Done"], vec![]]);
}

#[tokio::test(start_paused = true)]
async fn in_a_terminal_any_line_is_an_answer_in_words_and_no_number_presses_a_button() {
    let world = World::new().await;
    let console: ConversationId = "console:local".parse().unwrap();
    let origin = store::tasks::Origin { conversation: Some(console), ..world.origin.clone() };
    let input = json!({"prompt_type": "text", "question": "How many?"});
    let (done, ()) = during(&world, Call { origin, ..world.call() }, "prompt_human", input, async |question| {
        assert_eq!(
            say(&world.db, &question, " ", 1).await.as_deref(),
            Some("There are no words in that: please answer with a text.")
        );
        assert_eq!(say(&world.db, &question, "1", 1).await, None);
    })
    .await;
    assert_eq!(json_of(&done)["answer"], json!("1"));
    let said = said(&world.db).await;
    assert!(said[0].1.ends_with("The next line that you type is the answer.") && said[0].2.is_empty(), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn nobody_s_answer_is_a_no_and_the_next_question_of_the_turn_is_refused() {
    let world = World::new().await;
    let done = world.ask("ask_user", json!({"prompt_type": "confirm", "question": "Go?"})).await;
    let expected = json!({"answered": false, "answer": null, "reason": "nobody answered in time: take it as a no"});
    assert_eq!(json_of(&done), expected);
    assert_eq!(world.clock.now() - START, 30 * 60_000);
    let again = world.ask("prompt_human", json!({"prompt_type": "confirm", "question": "Really?"})).await;
    assert!(again.is_error && again.content.contains("asks people once in a turn"), "{}", again.content);
    assert_eq!(said(&world.db).await.len(), 2, "one question, and its end");
}

#[tokio::test(start_paused = true)]
async fn questions_that_cannot_be_answered_are_not_asked() {
    let world = World::new().await;
    let many: Vec<Value> = (0..11).map(|at| json!({"label": at.to_string()})).collect();
    for (input, why) in [
        (json!({"prompt_type": "confirm", "question": " "}), "there is no question"),
        (json!({"prompt_type": "confirm", "question": "x".repeat(501)}), "the question has 501 characters"),
        (json!({"prompt_type": "select", "question": "x"}), "give 2 to 10 options: these are 0"),
        (json!({"prompt_type": "select", "question": "x", "options": many}), "give 2 to 10 options: these are 11"),
        (json!({"prompt_type": "text", "question": "x", "options": [{"label": "A"}]}), "has no options"),
        (json!({"prompt_type": "select", "question": "x", "options": [{"label": "A"}, {"label": "A"}]}), "told apart"),
        (json!({"prompt_type": "select", "question": "x", "options": [{"label": "A"}, {"label": " "}]}), "no label"),
        (json!({"prompt_type": "guess", "question": "x"}), "bad arguments"),
    ] {
        let done = world.ask("prompt_human", input).await;
        assert!(done.is_error && done.content.contains(why), "{why}: {}", done.content);
    }
    assert!(said(&world.db).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_and_its_ticks_outlive_the_process_that_asked() {
    let world = World::new().await;
    let input =
        json!({"prompt_type": "multi_select", "question": "Which?", "options": [{"label": "A"}, {"label": "B"}]});
    let call = world.call();
    let (done, ()) = during(&world, call.clone(), "prompt_human", input.clone(), async |question| {
        assert_eq!(press(&world.db, &question, 0, 1, false).await, None);
        call.stop.cancel();
    })
    .await;
    assert_eq!(done.content, "not run: the turn was stopped");
    assert!(world.rows().await.is_empty(), "nothing is written down before there is an answer");
    let (done, ()) = during(&world, world.call(), "prompt_human", input, async |question| {
        assert_eq!(question.ticked, [0]);
        assert_eq!(press(&world.db, &question, 2, 1, false).await, None);
    })
    .await;
    assert_eq!(json_of(&done)["answer"], json!(["A"]));
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_entered_beside_the_chat_and_only_its_placeholder_comes_back() {
    let world = World::new().await;
    // Another process: its commits ring no bell here.
    let beside = Db::open(&world.folder.path().join("openhive.db")).await.unwrap();
    let input = json!({"key": "API_KEY", "label": "The key of the weather service", "description": "See its site."});
    let (done, ()) = during(&world, world.call(), "prompt_secret", input, async |question| {
        let words = say(&world.db, &question, "correct-horse-battery", 1).await;
        assert_eq!(words.as_deref(), Some("Only an admin may answer that."));
        let (value, wanted) = (Secret::new("correct-horse-battery"), question.wanted.clone().unwrap());
        let enter = async |conn: &mut Conn| {
            assert!(org::questions::enter(conn, &question, "cli", START).await?);
            assert!(world.vault.put_secret(conn, &wanted.team, &wanted.key, &value, "cli").await.is_ok());
            assert!(!org::questions::enter(conn, &question, "cli", START).await?, "once");
            Ok(())
        };
        beside.tx("enter", enter).await.unwrap();
    })
    .await;
    let expected = json!({"success": true, "key": "API_KEY", "placeholder": "{{secret:API_KEY}}"});
    assert_eq!(json_of(&done), expected);
    assert!(world.clock.now() - START <= 1_000, "noticed within a second");
    let said = said(&world.db).await;
    assert!(said[0].1.contains("hive secret answer 1") && said[0].2 == ["Cancel"], "{said:?}");
    assert!(said[1].1.ends_with("It was entered, and is in the vault.") && said[1].2.is_empty());
    assert!(said.iter().all(|(_, text, _)| !text.contains("correct-horse")));
    assert!(world.scrub.finds_in("x correct-horse-battery"), "it is known here from now on");
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_not_given_is_gone_without() {
    for (cancelled, reason) in [
        (true, "telegram:7 does not want to give it: go on without it"),
        (false, "nobody entered it in time: go on without it"),
    ] {
        let world = World::new().await;
        let input = json!({"key": "API_KEY", "label": "x"});
        let (done, ()) = during(&world, world.call(), "prompt_secret", input, async |question| {
            if cancelled {
                assert_eq!(press(&world.db, &question, 0, 7, true).await, None);
            }
        })
        .await;
        assert_eq!(json_of(&done), json!({"success": false, "key": "API_KEY", "reason": reason}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_asked_of_admins_alone_and_under_a_plain_key() {
    let world = World::new().await;
    let call = Call { grant: std::sync::Arc::new(Grant::main(false)), ..world.call() };
    let executor = world.executor_of(world.catalogue(Policy::default()));
    let input = json!({"key": "API_KEY", "label": "x"});
    let done = executor.run_calls(&call, vec![asked("1", "prompt_secret", input)]).await.unwrap().remove(0);
    assert!(done.is_error && done.content.contains("only a turn that an admin caused"), "{}", done.content);
    for (key, label) in [("api_key", "x"), ("1KEY", "x"), ("A-B", "x"), ("", "x"), ("API_KEY", " ")] {
        let done = world.ask("prompt_secret", json!({"key": key, "label": label})).await;
        assert!(done.is_error, "{key}: {}", done.content);
    }
    assert!(said(&world.db).await.is_empty());
}
