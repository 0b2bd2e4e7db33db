//! `prompt_human`: asks whoever caused the turn, and waits for the answer.

use std::borrow::Cow;
use std::time::Duration;

use channels::Emphasis;
use org::questions::LABEL_CHARS;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use store::questions::{Answer, Kind};

use super::too_long;
use super::written::Written;
use crate::asking::{AskingTool, Inquiry, Reply};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::ToolError;

/// The longest question, in characters.
const QUESTION_CHARS: usize = 500;
/// The longest description of a question, in characters.
const DESCRIPTION_CHARS: usize = 1_000;
/// The longest description of an option, in characters.
const OPTION_CHARS: usize = 200;
/// Most options.
const OPTIONS_MAX: usize = 10;

/// Asks a person.
pub struct PromptHuman;

/// The question. It is read from more shapes than models are shown: see [`super::written`].
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PromptHumanArgs {
    /// What sort of answer you want.
    pub prompt_type: PromptType,
    /// The question, up to 500 characters.
    pub question: String,
    /// What a person has to know to answer it, up to 1000 characters.
    pub description: Option<String>,
    /// 2 to 10 options; for `confirm` yes and no without any; none for `text`.
    #[schemars(default)]
    pub options: Vec<OptionAsked>,
}

impl<'de> Deserialize<'de> for PromptHumanArgs {
    fn deserialize<D: Deserializer<'de>>(written: D) -> Result<Self, D::Error> {
        Written::deserialize(written)?.meant().map_err(Error::custom)
    }
}

/// What sort of answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptType {
    /// Yes or no, or one of two options.
    Confirm,
    /// One of the options.
    Select,
    /// Any of the options.
    MultiSelect,
    /// Words.
    Text,
}

/// Something that can be chosen.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionAsked {
    /// What its button says, up to 76 characters.
    pub label: String,
    /// What you get where it is chosen; the label without it.
    pub value: Option<String>,
    /// More about it, up to 200 characters.
    pub description: Option<String>,
    /// How its button looks.
    #[serde(default)]
    pub variant: Variant,
}

/// How a button looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Like any other.
    #[default]
    Default,
    /// The thing that is usually meant.
    Primary,
    /// It does something good.
    Success,
    /// It is to be thought about.
    Warning,
    /// It is hard to take back.
    Destructive,
}

impl Variant {
    fn emphasis(self) -> Emphasis {
        match self {
            Variant::Default => Emphasis::Plain,
            Variant::Primary | Variant::Success => Emphasis::Primary,
            Variant::Warning | Variant::Destructive => Emphasis::Danger,
        }
    }
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Prompted {
    /// Whether somebody answered. Where nobody did, take it as a no.
    pub answered: bool,
    /// The value of the option, a list of values for `multi_select`, the words for `text`; null without an answer.
    pub answer: Value,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What the button says that answers a question for words with none.
const NO_ANSWER: &str = "No answer";

impl PromptHumanArgs {
    /// The options with yes and no where a `confirm` has none.
    fn options(&self) -> Vec<OptionAsked> {
        if self.prompt_type != PromptType::Confirm || !self.options.is_empty() {
            return self.options.clone();
        }
        let option = |label: &str, value: &str, variant| OptionAsked {
            label: label.to_owned(),
            value: Some(value.to_owned()),
            description: None,
            variant,
        };
        vec![option("Yes", "yes", Variant::Primary), option("No", "no", Variant::Default)]
    }

    fn check(&self) -> Result<(), String> {
        if self.question.trim().is_empty() {
            return Err("there is no question".to_owned());
        }
        let description = self.description.as_deref().unwrap_or_default();
        let long = too_long("question", &self.question, QUESTION_CHARS);
        if let Some(why) = long.or_else(|| too_long("description", description, DESCRIPTION_CHARS)) {
            return Err(why);
        }
        let options = self.options();
        match self.prompt_type {
            PromptType::Text if !options.is_empty() => {
                return Err("a question for words has no options: use `select` for those".to_owned());
            }
            PromptType::Text => return Ok(()),
            _ if !(2..=OPTIONS_MAX).contains(&options.len()) => {
                return Err(format!("give 2 to {OPTIONS_MAX} options: these are {}", options.len()));
            }
            _ => {}
        }
        for (at, option) in options.iter().enumerate() {
            let label = option.label.trim();
            if label.is_empty() {
                return Err(format!("option {} has no label", at + 1));
            }
            let about = option.description.as_deref().unwrap_or_default();
            let long = too_long(&format!("label of option {}", at + 1), label, LABEL_CHARS);
            if let Some(why) =
                long.or_else(|| too_long(&format!("description of option {}", at + 1), about, OPTION_CHARS))
            {
                return Err(why);
            }
            if options[..at].iter().any(|other| other.label.trim() == label || other.value() == option.value()) {
                return Err(format!("two options say or mean `{label}`: they could not be told apart"));
            }
        }
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = format!("**{}**", self.question.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Some(description) = self.description.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            text.push_str(&format!("\n{description}"));
        }
        let about = |option: &OptionAsked| {
            let about = option.description.as_deref()?.trim();
            (!about.is_empty()).then(|| format!("\n- {}: {about}", option.label.trim()))
        };
        text.extend(self.options().iter().filter_map(about));
        text
    }

    /// What the answer means.
    fn meaning(&self, answer: Answer) -> Prompted {
        let none =
            |reason: &str, by| Prompted { answered: false, answer: Value::Null, by, reason: Some(reason.to_owned()) };
        let (answer, by) = match answer {
            Answer::Chosen { by, .. } if self.prompt_type == PromptType::Text => {
                return none("they gave no answer: go on without one", Some(by));
            }
            Answer::Chosen { options, by } => {
                let known = self.options();
                let mut values = options.iter().filter_map(|at| known.get(*at)).map(|option| json!(option.value()));
                let answer = match self.prompt_type {
                    PromptType::MultiSelect => Value::Array(values.collect()),
                    _ => values.next().unwrap_or_default(),
                };
                (answer, by)
            }
            Answer::Said { text, by } => (json!(text), by),
            Answer::Entered { .. } | Answer::Nobody => {
                return none("nobody answered in time: take it as a no", None);
            }
        };
        Prompted { answered: true, answer, by: Some(by), reason: None }
    }
}

impl OptionAsked {
    fn value(&self) -> &str {
        self.value.as_deref().unwrap_or(self.label.trim())
    }
}

impl AskingTool for PromptHuman {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("prompt_human"),
        aliases: &["ask_user"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/prompt_human.md")),
        domain: Domain::Human,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Control,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = PromptHumanArgs;
    type Output = Prompted;

    async fn inquiry(&self, call: &Call, args: &PromptHumanArgs) -> Result<Inquiry, ToolError> {
        args.check().map_err(ToolError::Refused)?;
        let Some(conversation) = &call.origin.conversation else {
            return Err(ToolError::refused("nobody can be asked: no conversation caused this turn"));
        };
        let (kind, options) = match args.prompt_type {
            PromptType::Confirm | PromptType::Select => (Kind::One, args.options()),
            PromptType::MultiSelect => (Kind::Several, args.options()),
            PromptType::Text => (Kind::Words, Vec::new()),
        };
        let mut options: Vec<_> =
            options.into_iter().map(|option| (option.label.trim().to_owned(), option.variant.emphasis())).collect();
        if kind == Kind::Words {
            options.push((NO_ANSWER.to_owned(), Emphasis::Plain));
        }
        Ok(Inquiry {
            kind,
            text: args.text(),
            options,
            places: vec![conversation.clone()],
            asker: call.origin.sender.clone(),
            wanted: None,
            once: true,
        })
    }

    async fn answered(&self, _: &Call, args: PromptHumanArgs, reply: Reply) -> Result<Prompted, ToolError> {
        Ok(args.meaning(reply.answer))
    }
}
