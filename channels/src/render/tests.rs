//! Laws of rendering, over texts that people and models write and over texts that nobody should.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::{ELLIPSIS, RenderLimits, draft, length, length_max, pieces};
use crate::markup::{self, Dialect, Style};
use crate::{FileSource, Kind, Piece};

const PLATFORMS: [Kind; 2] = [Kind::Discord, Kind::Telegram];

/// No file, however long the text is.
const PIECES_ONLY: RenderLimits = RenderLimits { file_over_chars: usize::MAX };

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The text without what a cut, or the reading of a platform, may drop.
fn ink(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// What Telegram shows for its HTML. Fails where Telegram would refuse it: an unknown tag, bad nesting, a bare `<`.
fn telegram_shows(html: &str) -> Result<String, String> {
    let (mut shown, mut open, mut rest) = (String::new(), Vec::<String>::new(), html);
    while let Some(at) = rest.find(['<', '>', '&', '"']) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let (end, what) = match rest.as_bytes()[0] {
            b'<' => (rest.find('>').ok_or("a tag without end")?, "tag"),
            b'&' => (rest.find(';').ok_or("an entity without end")?, "entity"),
            _ => return Err(format!("unescaped: {rest:.20}")),
        };
        let inner = &rest[1..end];
        rest = &rest[end + 1..];
        match (what, inner) {
            ("entity", "amp") => shown.push('&'),
            ("entity", "lt") => shown.push('<'),
            ("entity", "gt") => shown.push('>'),
            ("entity", "quot") => shown.push('"'),
            ("tag", tag) => match tag.strip_prefix('/') {
                Some(name) if open.last().is_some_and(|open| open == name) => drop(open.pop()),
                Some(name) => return Err(format!("</{name}> closes {open:?}")),
                None => open_tag(&mut open, tag)?,
            },
            _ => return Err(format!("&{inner};")),
        }
    }
    shown.push_str(rest);
    if open.is_empty() { Ok(shown) } else { Err(format!("{open:?} stay open")) }
}

fn open_tag(open: &mut Vec<String>, tag: &str) -> Result<(), String> {
    let (name, attribute) = tag.split_once(' ').unwrap_or((tag, ""));
    let simple = ["b", "i", "s", "tg-spoiler", "code", "pre", "blockquote"].contains(&name) && attribute.is_empty();
    let link = name == "a" && attribute.starts_with("href=\"") && attribute.ends_with('"');
    let language = name == "code" && attribute.starts_with("class=\"language-") && open.ends_with(&["pre".to_owned()]);
    let inside = |name: &str| open.iter().any(|open| open == name);
    let allowed = !inside("code") && !inside(name) && (!inside("pre") || language);
    if !(simple || link || language) || !allowed {
        return Err(format!("<{tag}> in {open:?}"));
    }
    open.push(name.to_owned());
    Ok(())
}

/// What Discord shows, by reading the Markdown that was sent to it again.
fn discord_shows(text: &str) -> String {
    markup::read(Dialect::Discord, text).plain().to_owned()
}

/// Everything that must hold of every text.
fn check(markdown: &str) -> Result<(), TestCaseError> {
    for kind in PLATFORMS {
        let all = pieces(kind, markdown, PIECES_ONLY);
        let whole = markup::read(Dialect::of(kind), markdown);
        let joined: String = all.iter().map(|piece| piece.plain.as_str()).collect();
        prop_assert_eq!(ink(&joined), ink(whole.plain()), "{}: nothing is lost and nothing is added", kind);
        let max = length_max(kind).unwrap();
        for piece in all.iter().chain([&draft(kind, markdown)]) {
            prop_assert!(units(&piece.text) <= max && units(&piece.plain) <= max && length(kind, piece) <= max);
            let is_blank = piece.text.trim().is_empty() || piece.plain.trim().is_empty();
            prop_assert!(!is_blank || whole.is_blank(), "{}: a blank piece of {:?}", kind, markdown);
            let refused = |c: char| c.is_control() && c != '\n' && c != '\t';
            prop_assert!(!piece.text.contains(refused) && !piece.plain.contains(refused));
            if kind == Kind::Telegram {
                let shown = telegram_shows(&piece.text);
                prop_assert_eq!(shown.as_ref(), Ok(&piece.plain), "{}", &piece.text);
            }
        }
        check_cuts(kind, &whole)?;
    }
    Ok(())
}

/// No grapheme and no short link or code is torn.
fn check_cuts(kind: Kind, whole: &markup::Flow) -> Result<(), TestCaseError> {
    let max = length_max(kind).unwrap();
    let cuts = crate::split::split(whole, Dialect::of(kind), max);
    let graphemes: Vec<(usize, &str)> = whole.plain().grapheme_indices(true).collect();
    for cut in cuts.iter().flat_map(|range| [range.start, range.end]) {
        let next = graphemes.partition_point(|(at, _)| *at <= cut).saturating_sub(1);
        let Some((at, grapheme)) = graphemes.get(next) else { continue };
        let fits = units(grapheme) * "&quot;".len() < max;
        prop_assert!(*at == cut || at + grapheme.len() == cut || !fits, "{kind}: {grapheme:?} is torn");
        for mark in whole.marks_in(&(cut..cut + 1)) {
            let is_ink =
                |range: std::ops::Range<usize>| whole.plain().get(range).is_some_and(|part| !part.trim().is_empty());
            let inside = is_ink(mark.range.start..cut) && is_ink(cut..mark.range.end);
            let is_whole = matches!(mark.style, Style::Link { .. } | Style::Code(_));
            let is_short = units(&whole.write(Dialect::of(kind), mark.range.clone())) < max / 2;
            prop_assert!(!(inside && is_whole && is_short), "{kind}: {mark:?} is torn");
        }
    }
    Ok(())
}

/// Marks, words and traps, which make Markdown of every shape when they are strung together.
fn token() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "**",
        "*",
        "_",
        "__",
        "~~",
        "~",
        "||",
        "`",
        "``",
        "```",
        "```rust\n",
        "~~~\n",
        "\n",
        "\n\n",
        "\n```\n",
        " ",
        "  \n",
        "# ",
        "#### ",
        "> ",
        "\n> ",
        "\n>> ",
        "- ",
        "\n- ",
        "\n  - ",
        "\n1. ",
        "- [x] ",
        "[",
        "](",
        ")",
        "](http://a.b/c)",
        "[text](https://example.org/a?b=1&c=2 \"title\")",
        "[code `x`](tg://user)",
        "![alt](http://i.j/k.png)",
        "<https://auto.link/x>",
        "<me@example.org>",
        "[js](javascript:alert(1))",
        "\n| a | b |\n|---|:-:|\n| 1 | `2` |\n",
        "|",
        "\\",
        "\\*",
        "&amp;",
        "&lt;",
        "&",
        "<",
        ">",
        "\"",
        "<b>",
        "</b>",
        "<!-- c -->",
        "<@1>",
        "@everyone",
        "\n---\n",
        "    code\n",
        "\t",
        "\0",
        "\u{1b}",
        "\r\n",
        "\u{200b}",
        "\u{202e}",
        "e\u{301}",
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "漢字。",
        "ไทย",
        "שלום",
        "ﷺ",
        "word",
        "Sentence. ",
        "(x)",
        "https://example.org/a_b_c",
    ]);
    prop_oneof![
        8 => fixed.prop_map(str::to_owned),
        3 => "[a-zA-Z ]{1,40}",
        1 => "[a-z]{200,400}",
        1 => "\\PC{1,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_text_becomes_pieces_that_its_platform_accepts_and_that_say_the_same(
        tokens in prop::collection::vec(token(), 0..60),
    ) {
        check(&tokens.concat())?;
    }

    #[test]
    fn so_does_any_string_at_all(text in "(?s).{0,200}") {
        check(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_long_text_of_any_shape_is_cut_without_loss(tokens in prop::collection::vec(token(), 200..400)) {
        check(&tokens.concat())?;
    }
}

/// Text as a model writes it: blocks that are well formed.
fn document(blocks_max: usize) -> impl Strategy<Value = String> {
    let words = || prop::collection::vec("[a-z]{1,9}", 1..30).prop_map(|words| words.join(" "));
    let marked = words().prop_flat_map(|text| {
        prop::sample::select(vec![
            ("**", "**"),
            ("*", "*"),
            ("~~", "~~"),
            ("||", "||"),
            ("`", "`"),
            ("[", "](http://a.b/c)"),
        ])
        .prop_map(move |(open, close)| format!("{open}{text}{close}"))
    });
    let line = prop::collection::vec(prop_oneof![words(), marked], 1..8).prop_map(|parts| parts.join(" "));
    let lines = |count_max| prop::collection::vec(line.clone(), 1..count_max);
    let each = |lines: Vec<String>, mark: &str| lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>();
    let block = prop_oneof![
        4 => line.clone(),
        1 => line.clone().prop_map(|text| format!("## {text}")),
        2 => lines(6).prop_map(move |items| each(items, "- ")),
        1 => lines(5).prop_map(move |lines| each(lines, "> ")),
        2 => prop::collection::vec(words(), 1..60)
            .prop_map(|lines| format!("```rust\n  {}\n```", lines.join("\n    "))),
    ];
    prop::collection::vec(block, 1..blocks_max).prop_map(|blocks| blocks.join("\n\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_discord_piece_reads_back_as_what_it_should_show(markdown in document(25)) {
        check(&markdown)?;
        for piece in pieces(Kind::Discord, &markdown, PIECES_ONLY) {
            prop_assert_eq!(ink(&discord_shows(&piece.text)), ink(&piece.plain), "{}", &piece.text);
            let fences = piece.text.lines().filter(|line| line.starts_with("```")).count();
            prop_assert_eq!(fences % 2, 0, "{}", &piece.text);
        }
    }

    #[test]
    fn a_short_well_formed_text_goes_to_discord_as_it_is(markdown in document(4)) {
        prop_assume!(units(&markdown) <= 2_000);
        let sent = pieces(Kind::Discord, &markdown, PIECES_ONLY);
        // Spaces at the end of a line, and how many blank lines stand between two blocks, say nothing.
        let lines = |text: &str| {
            let lines = text.lines().map(|line| line.trim_end().to_owned());
            lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
        };
        prop_assert_eq!(sent.len(), 1);
        prop_assert_eq!(lines(&sent[0].text), lines(&markdown));
    }
}

#[test]
fn an_empty_text_is_one_empty_piece() {
    for kind in Kind::ALL {
        for text in ["", " ", "\n\n\t", "\0", "\u{feff}"] {
            assert_eq!(pieces(kind, text, RenderLimits::default()), [Piece::default()], "{text:?}");
        }
        assert_eq!(draft(kind, "").text, "…");
    }
}

#[test]
fn a_text_without_visible_markdown_is_shown_as_it_was_written() {
    for text in ["#", "```\n```", "[a]: http://b.c", "&nbsp;", ">", "[](<>)"] {
        for kind in PLATFORMS {
            assert_eq!(pieces(kind, text, RenderLimits::default())[0].plain, text);
        }
    }
}

#[test]
fn a_terminal_and_a_page_get_everything_in_one_piece() {
    let long = "A **bold** word. ".repeat(5_000);
    for (kind, says) in [(Kind::Console, "A bold word."), (Kind::Web, "A **bold** word.")] {
        let sent = pieces(kind, &long, RenderLimits::default());
        assert_eq!((sent.len(), sent[0].files.len()), (1, 0));
        assert!(sent[0].text.starts_with(says));
    }
}

#[test]
fn a_text_that_is_too_long_goes_as_its_beginning_and_a_file() {
    let long = "A **bold** word. ".repeat(1_000);
    for (kind, text_max) in [(Kind::Discord, 2_000), (Kind::Telegram, 1_024)] {
        assert!(pieces(kind, &long, PIECES_ONLY).iter().all(|piece| piece.files.is_empty()));
        let sent = pieces(kind, &long, RenderLimits::default());
        assert_eq!(sent.len(), 1);
        assert!(units(&sent[0].text) <= text_max && units(&sent[0].text) > text_max / 2);
        assert!(sent[0].plain.starts_with("A bold word. A") && sent[0].text.ends_with(ELLIPSIS));
        assert_eq!(sent[0].files[0].name, "reply.md");
        assert_eq!(sent[0].files[0].source, FileSource::Text(long.clone()));
        let short = pieces(kind, "four", RenderLimits { file_over_chars: 3 });
        assert_eq!((short[0].plain.as_str(), short[0].files.len()), ("four…", 1));
    }
}

#[test]
fn a_draft_closes_what_is_open() {
    for (markdown, telegram) in [
        ("**bold and `code", "<b>bold and </b><code>code</code>…"),
        ("**bold** and *", "<b>bold</b> and…"),
        ("see [the *doc](http://x", "see the <i>doc</i>…"),
        ("see [the doc](http://x.y) **now", "see <a href=\"http://x.y\">the doc</a> <b>now</b>…"),
        ("a ||secret", "a <tg-spoiler>secret</tg-spoiler>…"),
        ("```rust\nlet x", "<pre><code class=\"language-rust\">let x</code></pre>\n…"),
        ("2 * 3 and a_b_c", "2 * 3 and a_b_c…"),
        ("done.", "done.…"),
        ("array[0] (x)", "array[0] (x)…"),
    ] {
        assert_eq!(draft(Kind::Telegram, markdown).text, telegram, "{markdown}");
    }
    for kind in PLATFORMS {
        let long = draft(kind, &"word ".repeat(5_000));
        assert!(long.text.ends_with(ELLIPSIS) && length(kind, &long) <= length_max(kind).unwrap());
    }
}

#[test]
fn a_draft_grows_with_its_text() {
    let markdown = "# Title\n\nSome **bold** text, `code` and a [link](http://a.b).\n\n\
                    - one\n- two\n\n```rust\nfn main() {}\n```\nEnd.";
    let ends = markdown.char_indices().map(|(at, _)| at).chain([markdown.len()]);
    for end in ends {
        let shown = draft(Kind::Telegram, &markdown[..end]);
        telegram_shows(&shown.text).unwrap();
        assert!(shown.plain.ends_with(ELLIPSIS));
    }
}

#[test]
fn hostile_depth_and_size_end_in_time_and_within_the_limits() {
    for unit in [
        "> ", "- ", "[", "*", "**a", "||", "`", "```\n", "<", "&", "\\", "![", "* a\n ", "_a*b_", "\n", "\u{301}",
        "👩‍", "a|b|\n",
    ] {
        let text = unit.repeat(20_000 / unit.len());
        check(&text).unwrap();
    }
    let url = format!("[text](https://example.org/{})", "x".repeat(10_000));
    check(&url).unwrap();
    let grapheme = format!("a{}", "\u{301}".repeat(9_000));
    check(&grapheme).unwrap();
}

#[test]
fn naughty_strings_are_shown_and_break_nothing() {
    let Some(blns) = fakes::testset("text/blns.json") else { return };
    let strings: Vec<String> = serde_json::from_str(&std::fs::read_to_string(blns).unwrap()).unwrap();
    assert!(strings.len() > 400);
    strings.iter().for_each(|text| check(text).unwrap());
    check(&strings.join("\n\n")).unwrap();
    check(&strings.join(" ")).unwrap();
    for name in ["naughty-unicode", "emoji", "right-to-left", "corrupted"] {
        let path = fakes::testset(&format!("text/fuzzdb_{name}.txt")).expect("it lies beside the other");
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        text.lines().for_each(|line| check(line).unwrap());
        check(&text).unwrap();
        check(&text.repeat(5_000 / text.len() + 1)).unwrap();
    }
}
