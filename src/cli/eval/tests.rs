//! The door of the placing of lines, and its figures on public logs.

use serde_json::{Value, json};

use super::{Format, threads};

fn answers(input: &str, format: Format) -> Vec<Value> {
    let mut output = Vec::new();
    threads(input.as_bytes(), format, &mut output).expect("memory can be read and written");
    let output = String::from_utf8(output).expect("UTF-8");
    output.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn lines(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("{object}\n")).collect()
}

fn topics(answers: &[Value]) -> Vec<&str> {
    answers.iter().map(|answer| answer["topic"].as_str().unwrap_or("-")).collect()
}

#[test]
fn an_answer_has_these_fields_and_no_others() {
    let input = lines(&[json!({"id": 7, "sender": "ann", "text": "hi", "reply_to": null})]);
    let expected = json!({"id": 7, "topic": "t1", "reply_to": null, "confidence": 1.0});
    assert_eq!(answers(&input, Format::Jsonl), [expected]);
}

#[test]
fn the_forms_of_a_log_are_placed_alike() {
    let irc = "[12:18] <ann> how do I mount an ntfs partition?\n\
        === bob [~b@host]  has joined #room\n\
        [12:18] <carl> is there a good torrent client for gnome?\n\
        [12:19] <bob> ann: what does fdisk -l print?\n\
        [12:19] <dora> carl: try deluge\n";
    let whole: Vec<Value> = irc.lines().map(|line| json!({ "text": line })).collect();
    let apart = [
        json!({"user": "ann", "time": "12:18", "text": "how do I mount an ntfs partition?"}),
        json!({"user": null, "text": "=== bob [~b@host]  has joined #room"}),
        json!({"user": "carl", "time": "12:18", "text": "is there a good torrent client for gnome?"}),
        json!({"user": "bob", "time": "12:19", "text": "ann: what does fdisk -l print?", "extra": [1]}),
        json!({"user": "dora", "time": "12:19", "text": "carl: try deluge"}),
    ];
    let expected = answers(irc, Format::Irc);
    assert_eq!(topics(&expected), ["t1", "t2", "t3", "t1", "t3"]);
    assert_eq!(expected[3]["reply_to"], 0, "ids of lines without one count from 0");
    assert_eq!(answers(&lines(&whole), Format::Jsonl), expected);
    assert_eq!(answers(&lines(&apart), Format::Jsonl), expected);
}

#[test]
fn logs_of_one_input_know_nothing_of_each_other() {
    let input = lines(&[
        json!({"log": "a", "id": 1, "user": "ann", "text": "hello", "topic": "x"}),
        json!({"log": "b", "id": 1, "user": "bob", "text": "ann: hello", "topic": "x", "reply_to": 1}),
    ]);
    let answers = answers(&input, Format::Jsonl);
    assert_eq!(topics(&answers), ["t1", "t1", "-"]);
    assert_eq!((&answers[1]["log"], &answers[1]["reply_to"]), (&json!("b"), &Value::Null));
    assert_eq!(answers[2]["summary"]["one_to_one"], 1.0);
}

#[test]
fn a_told_reply_is_followed_whether_ids_are_text_or_numbers() {
    let input = lines(&[
        json!({"id": "5", "user": "ann", "text": "where is the printer configured?"}),
        json!({"id": 6, "user": "bob", "text": "the kernel panics at boot"}),
        json!({"id": 7, "user": "carl", "text": "kernel panics are fun", "reply_to": 5}),
    ]);
    let answers = answers(&input, Format::Jsonl);
    assert_eq!(answers[2]["topic"], answers[0]["topic"]);
    assert_eq!((&answers[2]["reply_to"], &answers[2]["confidence"]), (&json!("5"), &json!(1.0)));
}

#[test]
fn a_bad_line_gets_an_error_and_the_rest_is_placed() {
    let input = "nonsense\n{\"id\":1}\n{\"id\":{},\"text\":\"x\"}\n{\"text\":\"x\",\"at\":\"noon\"}\n\
        {\"id\":1,\"user\":\"a\",\"text\":\"x\"}\n{\"id\":\"1\",\"user\":\"a\",\"text\":\"x\"}\n";
    let answers = answers(input, Format::Jsonl);
    let places = ["not JSON", "text: is missing", "id: found an object", "at: expected", "", "id: `1` was"];
    for (answer, place) in answers.iter().zip(places) {
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.starts_with(place) && error.is_empty() == place.is_empty(), "{answer} {place}");
    }
    assert_eq!(answers.len(), places.len(), "no summary without marked topics");
}

/// The development logs as one input: every line of every log, with the marked topic where there is one.
fn development_logs(from_line: usize) -> Option<String> {
    let folder = fakes::testset("threading/dev")?;
    let clusters = fakes::testset("threading/gold.dev.clusters.txt")?;
    let mut gold = std::collections::BTreeMap::new();
    let clusters = std::fs::read_to_string(clusters).expect("readable");
    for (topic, cluster) in clusters.lines().enumerate() {
        let (log, members) = cluster.split_once(':').expect("log:lines");
        for line in members.split_whitespace() {
            gold.insert((log.to_owned(), line.parse::<usize>().expect("a line number")), topic);
        }
    }
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("readable").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut input = Vec::new();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let Some(log) = name.strip_suffix(".ascii.txt") else { continue };
        let bytes = std::fs::read(&path).expect("readable");
        for (number, text) in String::from_utf8_lossy(&bytes).lines().enumerate().skip(from_line) {
            let topic = gold.get(&(log.to_owned(), number));
            input.push(json!({"log": log, "id": number, "text": text, "topic": topic}));
        }
    }
    assert!(input.len() > 2_000, "the logs are there");
    Some(lines(&input))
}

/// Floors a little below what is reached, so that a change that costs quality is noticed.
#[test]
fn public_logs_are_told_apart_well() {
    for (from_line, floors) in [(0, [0.93, 0.83, 0.45, 0.92]), (1_000, [0.92, 0.82, 0.45, 0.92])] {
        let Some(input) = development_logs(from_line) else { return };
        let answers = answers(&input, Format::Jsonl);
        let summary = &answers.last().expect("a summary")["summary"];
        let figures = ["variation_of_information", "one_to_one", "exact_f1", "link_precision"];
        for (figure, floor) in figures.iter().zip(floors) {
            assert!(summary[figure].as_f64().is_some_and(|reached| reached >= floor), "{from_line} {figure} {summary}");
        }
        println!("from line {from_line}: {summary}");
    }
}

#[test]
fn the_documented_example_is_true() {
    let (input, expected) = super::jsonl::documented("hive eval threads");
    let mut output = Vec::new();
    threads(input.as_bytes(), Format::Jsonl, &mut output).expect("memory can be read and written");
    assert_eq!(String::from_utf8(output).as_deref(), Ok(expected));
}
