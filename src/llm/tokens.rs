//! An estimate of how many tokens a text is: for budgets, and for the context, before the provider has counted.
//!
//! "A quarter of the bytes" is right for English prose and off by half for ids, numbers and most other scripts. The
//! weights here are per kind of character, fitted to two public tokenizers (OpenAI's `cl100k_base` and
//! `o200k_base`) over 19 samples: English prose, chat, Rust, JSON, numbers, ids, and messages in Chinese, Finnish,
//! German, Japanese, Korean, Polish, Russian, Serbian, Turkish, Ukrainian and Vietnamese. The estimate of a whole
//! sample was 0.8 to 1.55 times the count (English 1.25, JSON 1.15, Chinese and Japanese 0.85 to 1.4), of pieces of
//! 3,000 characters 0.75 to 1.85 times. Anthropic's tokenizers are not public; its newest count up to a third more
//! tokens than these two.

use crate::request::{Block, Input, Message, Request};

/// Thousandths of a token, per character.
const LETTER: u64 = 340;
const DIGIT: u64 = 500;
/// A space is nearly always part of the word after it.
const SPACE: u64 = 30;
const LINE_END: u64 = 1_000;
const PUNCTUATION: u64 = 350;
/// Two bytes: accents, Greek, Cyrillic, Hebrew, Arabic.
const OTHER_LETTER: u64 = 650;
/// Three bytes: Chinese, Japanese, Korean and the scripts of India.
const FAR_LETTER: u64 = 1_250;
/// Emoji and symbols.
const SYMBOL: u64 = 2_400;

/// What the protocols add around a message or a tool, in tokens.
const FRAME: u64 = 6;

/// About how many tokens a text is.
pub fn of_text(text: &str) -> u64 {
    text.chars().map(weight).sum::<u64>().div_ceil(1_000)
}

fn weight(c: char) -> u64 {
    match c {
        'a'..='z' | 'A'..='Z' => LETTER,
        '0'..='9' => DIGIT,
        ' ' => SPACE,
        '\n' | '\r' | '\t' => LINE_END,
        c if c.is_ascii() => PUNCTUATION,
        c if c.len_utf8() == 2 => OTHER_LETTER,
        c if c.is_alphabetic() => FAR_LETTER,
        _ => SYMBOL,
    }
}

/// About how many tokens a message is.
pub fn of_message(message: &Message) -> u64 {
    let blocks = message.content.iter().map(|block| match block {
        Block::Text(text) => of_text(text),
        Block::ToolUse(call) => FRAME + of_text(&call.name) + of_input(&call.input),
        Block::ToolResult { content, .. } => FRAME + of_text(content),
        Block::Opaque { value, .. } => of_text(&value.to_string()),
    });
    FRAME + blocks.sum::<u64>()
}

/// About how many tokens a whole request is: system prompt, tools and messages, without the answer.
pub fn of_request(request: &Request) -> u64 {
    let system = request.system.iter().map(|part| of_text(&part.text));
    let tools =
        request.tools.iter().map(|tool| FRAME + of_text(&tool.name) + of_text(&tool.about) + tool.schema.tokens());
    let messages = request.messages.iter().map(of_message);
    system.chain(tools).chain(messages).sum()
}

fn of_input(input: &Input) -> u64 {
    match input {
        Input::Json(value) => of_text(&value.to_string()),
        Input::Broken(text) => of_text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::System;

    /// Texts with their counts by `o200k_base`. One sentence is a harder case than a page, and too
    /// high (a budget that refuses early) is the better fault than too low.
    #[test]
    fn an_estimate_is_of_the_right_size() {
        for (text, counted) in [
            ("The quick brown fox jumps over the lazy dog, and nobody in the village ever asked it why.", 20),
            (r#"{"id":"1234567890123456789","type":0,"flags":null,"members":[{"name":"ops","slots":5}]}"#, 31),
            ("会議は明日の午後三時に始まります。資料を忘れないでください。", 21),
            ("Встреча начнётся завтра в три часа дня, не забудьте документы.", 17),
            ("fn main() {\n    let total: u64 = parts.iter().sum();\n    println!(\"{total}\");\n}\n", 22),
        ] {
            let estimate = of_text(text);
            assert!(estimate * 3 > counted * 2 && estimate * 4 < counted * 9, "{estimate} for {counted}: {text}");
        }
        assert_eq!(of_text(""), 0);
    }

    #[test]
    fn every_part_of_a_request_counts() {
        let empty = of_request(&Request::default());
        let system = vec![System { text: "word ".repeat(100), cached: false }];
        let with_system = of_request(&Request { system, ..Request::default() });
        let messages = vec![Message::user("word ".repeat(100))];
        let with_message = of_request(&Request { messages, ..Request::default() });
        assert_eq!(empty, 0);
        assert!(with_system > 100 && with_message > with_system);
    }
}
