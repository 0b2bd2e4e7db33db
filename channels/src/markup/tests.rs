//! What Markdown becomes, by example. The laws are in `render`.

use super::{Dialect, clean, read};

/// The whole text in a platform's markup.
fn written(dialect: Dialect, markdown: &str) -> String {
    let flow = read(dialect, markdown);
    flow.write(dialect, 0..flow.plain().len())
}

#[test]
fn each_construct_becomes_what_the_platform_knows() {
    // Markdown, Telegram, Discord.
    let table = [
        ("**b** *i* _i_ ~~s~~ ||x||", "<b>b</b> <i>i</i> <i>i</i> <s>s</s> <tg-spoiler>x</tg-spoiler>", ""),
        ("__b__ ~s~", "<b>b</b> <s>s</s>", "**b** ~~s~~"),
        ("***both***", "<i><b>both</b></i>", ""),
        ("# One\n### Three", "<b>One</b>\n<b>Three</b>", ""),
        ("#### Four **b**", "<b>Four b</b>", "**Four b**"),
        ("Two\nlines\n---", "<b>Two lines</b>", "## Two lines"),
        ("a & b < c > \"d\"", "a &amp; b &lt; c &gt; &quot;d&quot;", ""),
        ("`a<b`", "<code>a&lt;b</code>", ""),
        ("**bold `code` bold**", "<b>bold </b><code>code</code><b> bold</b>", ""),
        ("||see `code`||", "<tg-spoiler>see code</tg-spoiler>", ""),
        ("[`code`](http://a.b)", "<a href=\"http://a.b\">code</a>", ""),
        (
            "[a](http://b.c/?d=1&e=\"2\")",
            "<a href=\"http://b.c/?d=1&amp;e=%222%22\">a</a>",
            "[a](http://b.c/?d=1&e=%222%22)",
        ),
        ("[a](http://b.c/(d) 'title')", "<a href=\"http://b.c/(d)\">a</a>", "[a](http://b.c/%28d%29)"),
        ("[a][1]\n\n[1]: http://b.c", "<a href=\"http://b.c\">a</a>", "[a](http://b.c)"),
        (
            "[a](javascript:b) [c](d/e.md) [f](tg://g)",
            "a (javascript:b) c (d/e.md) <a href=\"tg://g\">f</a>",
            "a (javascript:b) c (d/e.md) f (tg://g)",
        ),
        ("[Ann](tg://user?id=5)", "Ann (tg://user?id=5)", "Ann (tg://user?id=5)"),
        (
            "[http://good.org](http://bad.org)",
            "<a href=\"http://bad.org\">http://good.org</a>",
            "http://good.org (http://bad.org)",
        ),
        (
            "<http://a.b> <c@d.e>",
            "<a href=\"http://a.b\">http://a.b</a> <a href=\"mailto:c@d.e\">c@d.e</a>",
            "<http://a.b> c@d.e",
        ),
        (
            "![alt](http://a.b/c.png) ![](http://d.e)",
            "<a href=\"http://a.b/c.png\">alt</a> <a href=\"http://d.e\">http://d.e</a>",
            "[alt](http://a.b/c.png) http://d.e",
        ),
        ("[![alt](http://i.j)](http://a.b)", "<a href=\"http://a.b\">alt</a>", "[alt](http://a.b)"),
        ("<b>x</b> <!-- c -->", "&lt;b&gt;x&lt;/b&gt; &lt;!-- c --&gt;", ""),
        ("&lt;@1&gt; \\*a\\* &copy; \\\\", "&lt;@1&gt; *a* © \\", "\\<@1\\> \\*a\\* © \\\\"),
        ("@everyone <@1> <#2> <:e:3>", "@everyone &lt;@1&gt; &lt;#2&gt; &lt;:e:3&gt;", ""),
        (
            "```rust,ignore\na < b\n```",
            "<pre><code class=\"language-rust\">a &lt; b</code></pre>",
            "```rust\na < b\n```",
        ),
        ("~~~\na ``` b\n~~~", "<pre>a ``` b</pre>", "```\na `\u{200b}`\u{200b}`\u{200b} b\n```"),
        ("    a\n      b", "<pre>a\n  b</pre>", "```\na\n  b\n```"),
        ("``a`b`` `` `c` ``", "<code>a`b</code> <code>`c`</code>", ""),
        ("- a\n  - b\n    - c\n- d", "• a\n  ◦ b\n    ▪ c\n• d", ""),
        ("3. a\n4. b\n\n   c", "3. a\n4. b\n\n   c", ""),
        ("- [ ] a\n- [x] b", "☐ a\n☑ b", "- ☐ a\n- ☑ b"),
        ("- a\n  ```\n  c\n  ```\n- b", "• a\n<pre>c</pre>\n• b", "- a\n```\nc\n```\n- b"),
        ("> a\n> **b**\n\nc", "<blockquote>a\n<b>b</b></blockquote>\n\nc", ""),
        ("> a\n>\n> > b", "<blockquote>a\n\n&gt; b</blockquote>", "> a\n> \n> > b"),
        ("> ```\n> a\n> b\n> ```", "<blockquote><pre>a\nb</pre></blockquote>", ""),
        (
            "|a|b|\n|-|-:|\n|x|10|\n|`yy`|2|",
            "<pre>a  |  b\n---+---\nx  | 10\nyy |  2</pre>",
            "```\na  |  b\n---+---\nx  | 10\nyy |  2\n```",
        ),
        ("a\n\n\n\nb\nc  \nd", "a\n\nb\nc\nd", "a\n\nb\nc\nd"),
        ("a\n\n***\n\nb", "a\n\n──────────\n\nb", "a\n\n──────────\n\nb"),
        ("||a **b||** ||||", "<tg-spoiler>a <b>b||</b> </tg-spoiler>||", ""),
        ("\\||a||", "||a||", "\\||a||"),
    ];
    for (markdown, telegram, discord) in table {
        assert_eq!(written(Dialect::Telegram, markdown), telegram, "{markdown}");
        // Empty: Discord's own Markdown says it the same way.
        let discord = if discord.is_empty() { markdown } else { discord };
        let lines = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(lines(&written(Dialect::Discord, markdown)), lines(discord), "{markdown}");
    }
}

#[test]
fn a_terminal_gets_no_markup_and_every_address() {
    let markdown =
        "## T\n\n**b** `c` [a](http://b.c) <http://d.e>\n\n> q\n> r\n\n- i\n  ```\n  x\n   y\n  ```\n\n|a|\n|-|\n|b|";
    let expected = "T\n\nb c a (http://b.c) http://d.e\n\n> q\n> r\n\n• i\n  x\n   y\n\na\n-\nb";
    assert_eq!(read(Dialect::Plain, markdown).plain(), expected);
}

#[test]
fn a_part_is_complete_in_itself() {
    let markdown = "> a **b [c d](http://e.f)**\n> g\n\n```rs\nh\ni\n```";
    let flow = read(Dialect::Telegram, markdown);
    let at = |text: &str| flow.plain().find(text).expect(text);
    for (from, to, telegram) in [
        ("a", " d", "<blockquote>a <b>b <a href=\"http://e.f\">c</a></b></blockquote>"),
        ("d", "\n\n", "<blockquote><b><a href=\"http://e.f\">d</a></b>\ng</blockquote>"),
        ("h", "\ni", "<pre><code class=\"language-rs\">h</code></pre>"),
    ] {
        assert_eq!(flow.write(Dialect::Telegram, at(from)..at(to)), telegram);
    }
    let flow = read(Dialect::Discord, markdown);
    let at = |text: &str| flow.plain().find(text).expect(text);
    for (from, to, discord) in [
        ("a", " d", "> a **b [c](http://e.f)**"),
        ("d", "\n\n", "> **[d](http://e.f)**\n> g"),
        ("i", "", "```rs\ni\n```"),
    ] {
        let end = if to.is_empty() { flow.plain().len() } else { at(to) };
        assert_eq!(flow.write(Dialect::Discord, at(from)..end), discord);
    }
}

#[test]
fn control_characters_are_dropped_and_words_stay_apart() {
    assert_eq!(
        clean("\u{feff}a\0b\u{1b}[1m\r\nc\rd\te\u{b}f\u{85}g\u{7f}\u{200d}\u{202e}"),
        "ab[1m\nc\nd\te f g\u{200d}\u{202e}"
    );
    assert!(matches!(clean("nothing to do\n\t"), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn a_table_is_aligned_by_what_is_seen_and_a_wide_cell_does_not_widen_the_others() {
    let long = "x".repeat(200);
    let table = written(Dialect::Discord, &format!("|漢字|b|\n|-|-|\n|a|e\u{301}|\n|{long}|c|"));
    let pad = " ".repeat(39);
    assert_eq!(
        table,
        format!("```\n漢字{} | b\n{}-+--\na{pad} | e\u{301}\n{long} | c\n```", " ".repeat(36), "-".repeat(40))
    );
}
