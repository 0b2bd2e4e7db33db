//! The values of a team's `config.yaml`, read as [`forms`] says they are written.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_saphyr::Options;

use super::config::Bucket;
use super::forms::{self, TextForm, ValueForm};

/// The most values a file may stand for, aliases followed.
const NODES_MAX: usize = 5_000;
/// The deepest nesting: the file needs four levels.
const DEPTH_MAX: usize = 16;
/// The most entries of a list.
const ENTRIES_MAX: usize = 500;
/// The longest description, in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 1_000;

/// Bounds for a text that somebody else may have written.
pub(super) fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: NODES_MAX, max_depth: DEPTH_MAX, max_documents: 1 },
    }
}

/// An error without the place, which is said apart, and without a picture of the file.
pub(super) fn in_words(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let end = text.find(" at line ").or_else(|| text.find("\n")).unwrap_or(text.len());
    let text = &text[..end];
    meant_key(text)
        .map_or_else(|| text.to_owned(), |(key, meant)| format!("there is no key `{key}`: did you mean `{meant}`?"))
}

/// The key that nobody knows, and the one that was probably meant: both stand in the error's text.
fn meant_key(text: &str) -> Option<(&str, &str)> {
    let (key, known) = text.strip_prefix("unknown field `")?.split_once('`')?;
    let known = known.trim_start_matches([',', ' ']).trim_start_matches("expected").trim_start_matches(" one of");
    let words = known.split([',', ' ', '`']).filter(|word| !word.is_empty() && *word != "or");
    Some((key, base::text::meant(key, words)?))
}

pub(super) fn text<'de, D: Deserializer<'de>>(de: D) -> Result<String, D::Error> {
    let text = String::deserialize(de)?;
    let chars = text.chars().count();
    if chars > DESCRIPTION_CHARS_MAX {
        return Err(D::Error::custom(format!("has {chars} characters, and may have {DESCRIPTION_CHARS_MAX}")));
    }
    Ok(text)
}

pub(super) fn tools<'de, D: Deserializer<'de>>(de: D) -> Result<Vec<String>, D::Error> {
    list(de, &forms::TOOL)
}

pub(super) fn toolboxes<'de, D: Deserializer<'de>>(de: D) -> Result<Option<Vec<String>>, D::Error> {
    list(de, &forms::TOOLBOX).map(Some)
}

pub(super) fn servers<'de, D: Deserializer<'de>>(de: D) -> Result<Vec<String>, D::Error> {
    list(de, &forms::SERVER)
}

pub(super) fn domains<'de, D: Deserializer<'de>>(de: D) -> Result<Option<Vec<String>>, D::Error> {
    // An empty list says nothing, as none does: the parent's hosts.
    Ok(Some(list(de, &forms::HOST)?).filter(|domains| !domains.is_empty()))
}

pub(super) fn profile<'de, D: Deserializer<'de>>(de: D) -> Result<Option<String>, D::Error> {
    Option::<String>::deserialize(de)?.map(|name| text_of(&name, &forms::PROFILE)).transpose()
}

pub(super) fn embedding<'de, D: Deserializer<'de>>(de: D) -> Result<Option<String>, D::Error> {
    Option::<String>::deserialize(de)?.map(|name| text_of(&name, &forms::EMBEDDING)).transpose()
}

pub(super) fn buckets<'de, D: Deserializer<'de>>(de: D) -> Result<BTreeMap<String, Bucket>, D::Error> {
    let buckets = BTreeMap::<String, Bucket>::deserialize(de)?;
    if buckets.len() > ENTRIES_MAX {
        return Err(D::Error::custom(format!("has {} entries, and may have {ENTRIES_MAX}", buckets.len())));
    }
    Ok(buckets)
}

pub(super) fn steps<'de, D: Deserializer<'de>>(de: D) -> Result<u32, D::Error> {
    whole(de, &forms::STEPS)
}

pub(super) fn daily_ops<'de, D: Deserializer<'de>>(de: D) -> Result<u32, D::Error> {
    whole(de, &forms::DAILY_OPS)
}

pub(super) fn burst<'de, D: Deserializer<'de>>(de: D) -> Result<u32, D::Error> {
    whole(de, &forms::BURST)
}

pub(super) fn timeout<'de, D: Deserializer<'de>>(de: D) -> Result<u32, D::Error> {
    whole(de, &forms::TIMEOUT_MS)
}

pub(super) fn tokens<'de, D: Deserializer<'de>>(de: D) -> Result<Option<u64>, D::Error> {
    Option::<u64>::deserialize(de)
}

pub(super) fn rate<'de, D: Deserializer<'de>>(de: D) -> Result<f64, D::Error> {
    number(f64::deserialize(de)?, &forms::RATE)
}

pub(super) fn dollars<'de, D: Deserializer<'de>>(de: D) -> Result<Option<f64>, D::Error> {
    Option::<f64>::deserialize(de)?.map(|dollars| number(dollars, &forms::DOLLARS)).transpose()
}

fn number<E: serde::de::Error>(given: f64, form: &ValueForm<f64, f64>) -> Result<f64, E> {
    (form.read)(&given).ok_or_else(|| E::custom(format!("expected {}", form.wanted)))
}

fn whole<'de, D: Deserializer<'de>>(de: D, bounds: &RangeInclusive<u32>) -> Result<u32, D::Error> {
    let number = i64::deserialize(de)?;
    u32::try_from(number).ok().filter(|number| bounds.contains(number)).ok_or_else(|| {
        D::Error::custom(format!("{number} is not a whole number from {} to {}", bounds.start(), bounds.end()))
    })
}

fn text_of<E: serde::de::Error>(given: &str, form: &TextForm) -> Result<String, E> {
    let wrong = || E::custom(format!("`{}` is not {}", base::text::headline(given, 60), form.wanted));
    (form.read)(given).ok_or_else(wrong)
}

fn list<'de, D: Deserializer<'de>>(de: D, form: &TextForm) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<String>::deserialize(de)?;
    if entries.len() > ENTRIES_MAX {
        return Err(D::Error::custom(format!("has {} entries, and may have {ENTRIES_MAX}", entries.len())));
    }
    entries.iter().map(|entry| text_of(entry, form)).collect()
}
