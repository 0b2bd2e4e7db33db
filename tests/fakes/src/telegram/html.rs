//! Telegram's reading of `parse_mode: HTML`: what it accepts, and the words in which it refuses.

use serde_json::{Value, json};

/// A text as people see it, with its markup beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Formatted {
    /// The text without markup.
    pub text: String,
    /// Telegram's entities, offsets in UTF-16 units.
    pub entities: Vec<Value>,
}

/// An element that has begun and not ended.
struct Open {
    /// The tag's name, as its end tag must repeat it.
    tag: String,
    /// Where its text begins, in UTF-16 units.
    from: usize,
    /// The entity that it becomes, without offset and length.
    entity: Value,
}

/// Reads HTML as Telegram does. The error is the description that Telegram answers with.
pub fn parse(html: &str) -> Result<Formatted, String> {
    let mut out = Formatted::default();
    let mut length = 0;
    let mut open: Vec<Open> = Vec::new();
    let mut rest = html;
    while let Some(first) = rest.chars().next() {
        let at = html.len() - rest.len();
        if first == '<' {
            let end = rest.find('>').ok_or_else(|| refuse(&format!("Unclosed start tag at byte offset {at}")))?;
            let inner = &rest[1..end];
            rest = &rest[end + 1..];
            if let Some(name) = inner.strip_prefix('/') {
                close(&mut open, name.trim(), at, length, &mut out)?;
            } else {
                open.push(start(inner, at, length)?);
            }
            continue;
        }
        let (text, used) = if first == '&' { character(rest) } else { (first, first.len_utf8()) };
        out.text.push(text);
        length += text.len_utf16();
        rest = &rest[used..];
    }
    match open.pop() {
        Some(left) => Err(refuse(&format!("Can't find end tag corresponding to start tag \"{}\"", left.tag))),
        None => Ok(out),
    }
}

fn refuse(why: &str) -> String {
    format!("Bad Request: can't parse entities: {why}")
}

fn close(open: &mut Vec<Open>, name: &str, at: usize, length: usize, out: &mut Formatted) -> Result<(), String> {
    let Some(last) = open.pop() else {
        return Err(refuse(&format!("Unexpected end tag at byte offset {at}")));
    };
    if !name.is_empty() && !name.eq_ignore_ascii_case(&last.tag) {
        let why = format!("Unmatched end tag at byte offset {at}, expected \"</{}>\", found \"</{name}>\"", last.tag);
        return Err(refuse(&why));
    }
    if length > last.from {
        let mut entity = last.entity;
        entity["offset"] = json!(last.from);
        entity["length"] = json!(length - last.from);
        out.entities.push(entity);
    }
    Ok(())
}

fn start(inner: &str, at: usize, from: usize) -> Result<Open, String> {
    let (name, attributes) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
    let tag = name.to_ascii_lowercase();
    let attribute = |key: &str| attribute(attributes, key);
    let entity = match tag.as_str() {
        "b" | "strong" => json!({"type": "bold"}),
        "i" | "em" => json!({"type": "italic"}),
        "u" | "ins" => json!({"type": "underline"}),
        "s" | "strike" | "del" => json!({"type": "strikethrough"}),
        "tg-spoiler" => json!({"type": "spoiler"}),
        "span" if attribute("class").as_deref() == Some("tg-spoiler") => json!({"type": "spoiler"}),
        "span" => return Err(refuse(&format!("Tag \"span\" must have class \"tg-spoiler\" at byte offset {at}"))),
        "code" => json!({"type": "code"}),
        "pre" => json!({"type": "pre"}),
        "blockquote" if attributes.contains("expandable") => json!({"type": "expandable_blockquote"}),
        "blockquote" => json!({"type": "blockquote"}),
        "a" => link(attribute("href")),
        "tg-emoji" => json!({"type": "custom_emoji", "custom_emoji_id": attribute("emoji-id").unwrap_or_default()}),
        _ => return Err(refuse(&format!("Unsupported start tag \"{tag}\" at byte offset {at}"))),
    };
    Ok(Open { tag, from, entity })
}

/// A link to a user is a mention that notifies; any other link is a link.
fn link(href: Option<String>) -> Value {
    let href = href.unwrap_or_default();
    match href.strip_prefix("tg://user?id=").and_then(|id| id.parse::<i64>().ok()) {
        Some(id) => json!({"type": "text_mention", "user": {"id": id, "is_bot": false, "first_name": "?"}}),
        None => json!({"type": "text_link", "url": href}),
    }
}

fn attribute(attributes: &str, key: &str) -> Option<String> {
    let after = attributes.split_once(key)?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = after.chars().next()?;
    let value = match quote {
        '"' | '\'' => after[1..].split(quote).next()?,
        _ => after.split(char::is_whitespace).next()?,
    };
    let mut decoded = String::new();
    let mut rest = value;
    while let Some(first) = rest.chars().next() {
        let (text, used) = if first == '&' { character(rest) } else { (first, first.len_utf8()) };
        decoded.push(text);
        rest = &rest[used..];
    }
    Some(decoded)
}

/// The character that `rest`, which begins with `&`, stands for, and how many bytes say so. Telegram knows four
/// names and numbers; anything else is an ampersand.
fn character(rest: &str) -> (char, usize) {
    let known = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
    if let Some((name, text)) = known.into_iter().find(|(name, _)| rest.starts_with(name)) {
        return (text, name.len());
    }
    let number = rest.strip_prefix("&#").and_then(|after| {
        let digits = after.split(';').next()?;
        let (digits, base, used) = match digits.strip_prefix('x') {
            Some(hex) => (hex, 16, 3),
            None => (digits, 10, 2),
        };
        let text = char::from_u32(u32::from_str_radix(digits, base).ok()?)?;
        Some((text, used + digits.len() + usize::from(after.contains(';'))))
    });
    number.unwrap_or(('&', 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_counted_in_utf_16_units() {
        let read = parse("😀<b>x &lt; &#65;</b>").unwrap();
        assert_eq!(read.text, "😀x < A");
        assert_eq!(read.entities, [json!({"type": "bold", "offset": 2, "length": 5})]);
    }

    #[test]
    fn what_telegram_refuses_is_refused_in_its_words() {
        for (html, why) in [
            ("<h1>x</h1>", "Unsupported start tag \"h1\" at byte offset 0"),
            ("<b>x", "Can't find end tag corresponding to start tag \"b\""),
            ("<b><i>x</b></i>", "Unmatched end tag at byte offset 7, expected \"</i>\", found \"</b>\""),
            ("x</b>", "Unexpected end tag at byte offset 1"),
            ("1 < 2", "Unclosed start tag at byte offset 2"),
        ] {
            assert_eq!(parse(html), Err(format!("Bad Request: can't parse entities: {why}")), "{html}");
        }
    }

    #[test]
    fn a_link_keeps_its_address_and_a_link_to_a_user_is_a_mention() {
        let read = parse("<a href=\"https://e.org/?a=1&amp;b=2\">x</a><a href='tg://user?id=7'>y</a>").unwrap();
        assert_eq!(read.entities[0]["url"], "https://e.org/?a=1&b=2");
        assert_eq!(read.entities[1]["user"]["id"], 7);
    }
}
