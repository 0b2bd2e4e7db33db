//! Where cuts are made, by example. The laws are in `render`.

use crate::markup::{Dialect, read};

use super::split;

fn parts(dialect: Dialect, markdown: &str, units_max: usize) -> Vec<String> {
    let flow = read(dialect, markdown);
    split(&flow, dialect, units_max).into_iter().map(|range| flow.write(dialect, range)).collect()
}

#[test]
fn the_best_place_within_reach_is_taken() {
    for (markdown, units_max, expected) in [
        ("One two.\n\nThree four.\nFive.", 25, vec!["One two.", "Three four.\nFive."]),
        ("One two. Three four. Five six.", 25, vec!["One two. Three four.", "Five six."]),
        ("One two. Three four\nFive six.", 25, vec!["One two. Three four", "Five six."]),
        ("One two three. Four five six", 20, vec!["One two three.", "Four five six"]),
        ("one two three four five six", 10, vec!["one two", "three four", "five six"]),
        ("word https://a.example/path?x=1", 28, vec!["word", "https://a.example/path?x=1"]),
        ("x [a link text](http://a.b/c)", 28, vec!["x", "[a link text](http://a.b/c)"]),
        ("x `some code here` y", 17, vec!["x", "`some code here`", "y"]),
        ("abcdefghijklmnop[a b](http://a.b)", 20, vec!["abcdefghijklmnop", "[a b](http://a.b)"]),
        ("一二三。四五六七八九十", 8, vec!["一二三。", "四五六七八九十"]),
        ("# Title\n\nSome text here and more.", 24, vec!["# Title\n\nSome text here", "and more."]),
        ("- one two\n  - three\n- four", 24, vec!["- one two\n  - three", "- four"]),
    ] {
        assert_eq!(parts(Dialect::Discord, markdown, units_max), expected, "{markdown}");
    }
}

#[test]
fn what_must_be_torn_is_closed_and_opened_again() {
    for (dialect, markdown, units_max, expected) in [
        (Dialect::Discord, "```rs\na b\nc d\ne f\n```", 20, vec!["```rs\na b\nc d\n```", "```rs\ne f\n```"]),
        (Dialect::Discord, "**one two three**", 12, vec!["**one two**", "**three**"]),
        (Dialect::Discord, "> one two three", 12, vec!["> one two", "> three"]),
        (Dialect::Discord, "[one two](http://a.b)", 18, vec!["[one](http://a.b)", "[two](http://a.b)"]),
        (Dialect::Telegram, "**one & x**", 15, vec!["<b>one</b>", "<b>&amp; x</b>"]),
        (Dialect::Telegram, "**one *two***", 17, vec!["<b>one</b>", "<b><i>two</i></b>"]),
        (
            Dialect::Telegram,
            "```py\n  a\n  b\n```",
            48,
            vec![
                "<pre><code class=\"language-py\">  a</code></pre>",
                "<pre><code class=\"language-py\">  b</code></pre>",
            ],
        ),
    ] {
        assert_eq!(parts(dialect, markdown, units_max), expected, "{markdown}");
    }
}

#[test]
fn graphemes_are_whole_unless_one_alone_is_too_long() {
    let family = "👩‍👩‍👧‍👦";
    assert_eq!(parts(Dialect::Discord, &family.repeat(3), 25), [family.repeat(2), family.to_owned()]);
    let tower = format!("e{}", "\u{301}".repeat(20));
    let torn = parts(Dialect::Discord, &format!("a {tower}"), 8);
    assert_eq!(torn[0], "a");
    assert_eq!(torn[1..].concat(), tower);
    assert!(torn.iter().all(|part| part.chars().count() <= 8));
}

#[test]
fn no_part_is_blank() {
    let markdown = format!("a\n\n```\n{}\nb\n```", " ".repeat(100));
    assert_eq!(parts(Dialect::Discord, &markdown, 20), ["a", "```\nb\n```"]);
    assert_eq!(parts(Dialect::Telegram, " \n\t\n", 20), Vec::<String>::new());
}

#[test]
fn a_message_has_no_more_marks_than_telegram_shows() {
    let markdown = (0..250).map(|n| format!("**w{n}** and")).collect::<Vec<_>>().join(" ");
    let flow = read(Dialect::Telegram, &markdown);
    let ranges = split(&flow, Dialect::Telegram, 4_096);
    let marks: Vec<_> = ranges.iter().map(|range| flow.marks_in(range).count()).collect();
    assert_eq!(marks.iter().sum::<usize>(), 250, "nothing is lost: {marks:?}");
    assert!(marks.len() == 3 && marks.iter().all(|count| *count <= 100), "{marks:?}");
    let flow = read(Dialect::Discord, &markdown);
    assert_eq!(split(&flow, Dialect::Discord, 4_096).len(), 1, "Discord has no such limit");
}
