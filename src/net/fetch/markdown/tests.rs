//! Pages as Markdown, and pages that mean harm.

use proptest::prelude::*;

use super::*;

fn read(html: &str) -> String {
    let base = Url::parse("https://example.org/a/b").unwrap();
    markdown(html, &base, 1 << 20).text
}

#[test]
fn a_page_is_read_as_its_author_meant_it() {
    let page = "<!DOCTYPE html><html><head><title>A &amp; B</title><style>p{}</style><script>if (a<b) x('<p>no')</script>\
        </head><body><h1>Head</h1><p>One  <b>two</b>\n three <i> four </i>.</p><p>See <a href='../c?d=1'>the docs</a>, \
        <a href='#x'>here</a>, <a href='javascript:x()'>there</a>.</p><hr><blockquote><p>Quoted</p><p>twice</p></blockquote>\
        <ul><li>a<li>b<ol start=3><li>c</li><li>d</li></ol></li><li><p>e</p></li></ul><pre><code>let x = 1;\n  y</code></pre>\
        <p>Use <code>a`b</code> <img src=/i.png alt='An image'><img src=x></p></body></html>";
    let expected = "# A & B\n\n# Head\n\nOne **two** three *four* .\n\nSee [the docs](https://example.org/c?d=1), here, \
        there.\n\n---\n\n> Quoted\n>\n> twice\n\n- a\n- b\n  3. c\n  4. d\n\n- e\n\n```\nlet x = 1;\n  y\n```\n\n\
        Use ``a`b`` ![An image](https://example.org/i.png)";
    assert_eq!(read(page), expected);
}

#[test]
fn tables_of_data_are_tables_and_tables_of_layout_are_text() {
    for (html, expected) in [
        (
            "<table><tr><th>Name<th>Age<tr><td>A|B<td>3</table>after",
            "| Name | Age |\n| --- | --- |\n| A\\|B | 3 |\n\nafter",
        ),
        (
            "<table><tbody><tr><td><table><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table></td>\
             <td>side</td></tr></tbody></table>",
            "| a | 1 |\n| --- | --- |\n| b | 2 |\nside",
        ),
        ("<table><tr><td>only</td></tr><tr><td>column</td></tr></table>", "only\ncolumn"),
        ("<td>stray</td><td>cells</td>", "stray cells"),
    ] {
        assert_eq!(read(html), expected, "{html}");
    }
}

#[test]
fn what_is_nested_wrongly_keeps_its_text() {
    for (html, expected) in [
        ("<b>a<i>b</b>c</i>", "**a*b***c"),
        ("</div></p></ul>x", "x"),
        ("<b></b><a href=/x> </a>y", "y"),
        ("<a href=/x>one<a href=/y>two", "[one](https://example.org/x)[two](https://example.org/y)"),
        ("a<svg><title>no</title><text>no</text></svg>b", "ab"),
        ("<table><tr><td>a</ul></blockquote>b</table>", "ab"),
        ("<li>loose", "- loose"),
        ("<pre>open", "```\nopen\n```"),
        ("a<br>b<br><br>c", "a\nb\nc"),
        ("<p>x &lt;y&gt; &copy; &#x41;</p>", "x <y> © A"),
        ("<pre>```\n</pre>", "````\n```\n````"),
        ("", ""),
    ] {
        assert_eq!(read(html), expected, "{html}");
    }
}

/// Each of these takes time in the square of its length, or a stack as deep as it is long, where a tree is built of it.
#[test]
fn a_long_page_of_anything_is_read_in_one_pass() {
    const SIZE: usize = 256 << 10;
    for piece in [
        "<div>",
        "<b>",
        "<blockquote>",
        "<ul><li>",
        "<table><tr><td>",
        "<a href=x>",
        "</b>",
        "<p><b><i>",
        "<svg>",
        "<pre>",
        "<td>",
        "<h1>",
        "&",
        "<",
        "`",
        "<code>`",
        "<li>",
        "<blockquote>a<p>",
        "<a href=x>y</a>",
        "<table><td>a|</table>",
    ] {
        let base = Url::parse(&format!("https://example.org/{}/", "long".repeat(300))).unwrap();
        let page = piece.repeat(SIZE / piece.len());
        let read = markdown(&page, &base, SIZE);
        assert!(read.text.len() <= SIZE, "{piece}: {}", read.text.len());
    }
}

proptest! {
    #[test]
    fn plain_text_stays_as_it_is(words in prop::collection::vec("[a-z]{1,8}", 1..20)) {
        prop_assert_eq!(read(&words.join(" \n ")), words.join(" "));
    }

    #[test]
    fn no_page_is_too_broken(parts in prop::collection::vec(prop::sample::select(vec![
        "<b>", "</b>", "<a href='/x'>", "</a>", "<ul>", "<ol>", "<li>", "</li>", "</ul>", "<table>", "<tr>", "<td>", "</td>",
        "</tr>", "</table>", "<pre>", "</pre>", "<code>", "</code>", "<blockquote>", "</blockquote>", "<h2>", "</h2>", "<p>",
        "<br>", "<svg>", "</svg>", "<script>", "</script>", "word", " ", "`", "|", "<title>", "</title>", "<div>", "</div>",
    ]), 0..60)) {
        let words = parts.iter().filter(|part| **part == "word").count();
        let plain = parts.iter().all(|part| !["<svg>", "<script>", "<title>"].contains(part));
        let text = read(&parts.concat());
        prop_assert!(!plain || text.matches("word").count() == words, "{}", text);
    }
}
