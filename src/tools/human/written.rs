//! A question to a person as models write it: for `prompt_human`, or the way `ask_user` is known elsewhere.
//!
//! | written | understood as |
//! |---|---|
//! | no `prompt_type`, no options | `text` |
//! | no `prompt_type`, options | `select`; with `multiSelect` `multi_select` |
//! | an option that is a text | its label |
//! | `header` | what stands before the question |
//! | `questions` with one question | that question |
//! | `questions` with several | one question for words that lists them all: one message, one answer |

use serde::Deserialize;
use serde_json::Value;

use super::prompt_human::{OptionAsked, PromptHumanArgs, PromptType};

/// Most questions that are asked as one.
const QUESTIONS_MAX: usize = 4;

/// What is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    prompt_type: Option<PromptType>,
    question: Option<String>,
    description: Option<String>,
    header: Option<String>,
    #[serde(default, alias = "multiSelect")]
    multi_select: bool,
    #[serde(default)]
    options: Vec<Value>,
    questions: Option<Vec<Written>>,
}

impl Written {
    /// What it means.
    ///
    /// # Errors
    /// In words, where it asks nothing that can be understood.
    pub fn meant(mut self) -> Result<PromptHumanArgs, String> {
        let Some(mut questions) = self.questions.take() else { return self.one() };
        if self.question.is_some() || !self.options.is_empty() {
            return Err("give either `question` or `questions`".to_owned());
        }
        match questions.len() {
            1 => questions.remove(0).one(),
            2..=QUESTIONS_MAX => several(questions),
            count => Err(format!("`questions` has 1 to {QUESTIONS_MAX} of them: these are {count}")),
        }
    }

    fn one(self) -> Result<PromptHumanArgs, String> {
        if self.questions.is_some() {
            return Err("one of `questions` has no `questions` of its own".to_owned());
        }
        let question = self.question.ok_or("missing field `question`")?;
        let options = self.options.into_iter().map(option).collect::<Result<Vec<_>, _>>()?;
        let prompt_type = self.prompt_type.unwrap_or(match (options.is_empty(), self.multi_select) {
            (true, _) => PromptType::Text,
            (false, true) => PromptType::MultiSelect,
            (false, false) => PromptType::Select,
        });
        let header = self.header.as_deref().map(str::trim).filter(|header| !header.is_empty());
        let question = header.map_or_else(|| question.clone(), |header| format!("{header}: {question}"));
        Ok(PromptHumanArgs { prompt_type, question, description: self.description, options })
    }
}

fn option(written: Value) -> Result<OptionAsked, String> {
    match written {
        Value::String(label) => Ok(OptionAsked { label, ..OptionAsked::default() }),
        written => serde_json::from_value(written).map_err(|error| error.to_string()),
    }
}

/// One question that lists several, with what can be chosen of each.
fn several(questions: Vec<Written>) -> Result<PromptHumanArgs, String> {
    let mut lines = Vec::with_capacity(questions.len());
    for (number, written) in (1..).zip(questions) {
        let asked = written.one()?;
        let labels: Vec<&str> = asked.options.iter().map(|option| option.label.trim()).collect();
        let choice = match asked.prompt_type {
            _ if labels.is_empty() => String::new(),
            PromptType::MultiSelect => format!(" (any of: {})", labels.join(", ")),
            _ => format!(" ({})", labels.join(" or ")),
        };
        lines.push(format!("{number}. {}{choice}", asked.question.trim()));
    }
    Ok(PromptHumanArgs {
        prompt_type: PromptType::Text,
        question: format!("{} questions; please answer all of them.", lines.len()),
        description: Some(lines.join("\n")),
        options: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What a question is understood as: its sort, its words, its options.
    fn meant(written: Value) -> Result<(PromptType, String, Option<String>, Vec<String>), String> {
        let args: PromptHumanArgs = serde_json::from_value(written).map_err(|error| error.to_string())?;
        let labels = args.options.into_iter().map(|option| option.label).collect();
        Ok((args.prompt_type, args.question, args.description, labels))
    }

    #[test]
    fn what_models_write_is_understood() {
        let labels = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
        let (which, two) = ("Which?".to_owned(), json!([{"label": "A", "description": "as in a"}, "B"]));
        for (written, expected) in [
            (json!({"question": "Which?"}), (PromptType::Text, which.clone(), None, vec![])),
            (
                json!({"question": "Which?", "options": two}),
                (PromptType::Select, which.clone(), None, labels(&["A", "B"])),
            ),
            (
                json!({"questions": [{"question": "Which?", "header": "Disk", "multiSelect": true, "options": two}]}),
                (PromptType::MultiSelect, "Disk: Which?".to_owned(), None, labels(&["A", "B"])),
            ),
            (
                json!({"prompt_type": "confirm", "question": "Which?", "description": "more"}),
                (PromptType::Confirm, which.clone(), Some("more".to_owned()), vec![]),
            ),
            (
                json!({"questions": [{"question": "Which?", "options": two}, {"question": "When?"},
                                     {"question": "Who?", "multiSelect": true, "options": ["C", "D"]}]}),
                (
                    PromptType::Text,
                    "3 questions; please answer all of them.".to_owned(),
                    Some("1. Which? (A or B)\n2. When?\n3. Who? (any of: C, D)".to_owned()),
                    vec![],
                ),
            ),
        ] {
            assert_eq!(meant(written.clone()), Ok(expected), "{written}");
        }
        for (written, why) in [
            (json!({}), "missing field `question`"),
            (json!({"questions": []}), "`questions` has 1 to 4 of them: these are 0"),
            (json!({"question": "a", "questions": [{"question": "b"}]}), "give either `question` or `questions`"),
            (
                json!({"questions": [{"questions": [{"question": "b"}]}]}),
                "one of `questions` has no `questions` of its own",
            ),
            (json!({"question": "a", "options": [1]}), "invalid type: integer `1`, expected struct OptionAsked"),
            (json!({"question": "a", "option": []}), "unknown field `option`"),
        ] {
            let refused = meant(written.clone()).unwrap_err();
            assert!(refused.starts_with(why), "{written}: {refused}");
        }
    }
}
