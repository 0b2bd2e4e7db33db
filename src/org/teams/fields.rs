//! The values of a team's `config.yaml`: what each may be, and in words what it is to be.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_saphyr::Options;

use super::config::Bucket;

/// The most values a file may stand for, aliases followed.
const NODES_MAX: usize = 5_000;
/// The deepest nesting: the file needs four levels.
const DEPTH_MAX: usize = 16;
/// The most entries of a list.
const ENTRIES_MAX: usize = 500;
/// The longest description, in characters.
pub(super) const DESCRIPTION_CHARS_MAX: usize = 1_000;

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
    text[..end].to_owned()
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
    list(de, "a tool's name or a pattern such as `engineering.*`", |text| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.*".contains(c);
        text.len() <= 128 && text.chars().all(fits)
    })
}

pub(super) fn toolboxes<'de, D: Deserializer<'de>>(de: D) -> Result<Option<Vec<String>>, D::Error> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    list(de, "a toolbox's name such as `research`", |text| text.chars().all(fits)).map(Some)
}

pub(super) fn servers<'de, D: Deserializer<'de>>(de: D) -> Result<Vec<String>, D::Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    list(de, "a server's name such as `github`", |text| text.chars().all(fits))
}

pub(super) fn domains<'de, D: Deserializer<'de>>(de: D) -> Result<Option<Vec<String>>, D::Error> {
    let domains = list(de, "a host such as `example.org`, `*.example.org`, or `*`", |text| {
        let host = text.strip_prefix("*.").unwrap_or(text);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        text == "*" || (!host.is_empty() && host.chars().all(fits) && !host.starts_with('.'))
    })?;
    let domains: Vec<String> = domains.into_iter().map(|domain| domain.to_ascii_lowercase()).collect();
    // An empty list says nothing, as none does: the parent's hosts.
    Ok(Some(domains).filter(|domains| !domains.is_empty()))
}

pub(super) fn profile<'de, D: Deserializer<'de>>(de: D) -> Result<Option<String>, D::Error> {
    let Some(name) = Option::<String>::deserialize(de)? else { return Ok(None) };
    let fits = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(D::Error::custom(format!("`{}` is no profile's name", base::text::headline(&name, 60))));
    }
    Ok(Some(name))
}

pub(super) fn buckets<'de, D: Deserializer<'de>>(de: D) -> Result<BTreeMap<String, Bucket>, D::Error> {
    let buckets = BTreeMap::<String, Bucket>::deserialize(de)?;
    if buckets.len() > ENTRIES_MAX {
        return Err(D::Error::custom(format!("has {} entries, and may have {ENTRIES_MAX}", buckets.len())));
    }
    Ok(buckets)
}

pub(super) fn steps<'de, D: Deserializer<'de>>(de: D) -> Result<u32, D::Error> {
    whole(de, 1, 500)
}

pub(super) fn daily_ops<'de, D: Deserializer<'de>>(de: D) -> Result<u32, D::Error> {
    whole(de, 1, 100)
}

pub(super) fn burst<'de, D: Deserializer<'de>>(de: D) -> Result<u32, D::Error> {
    whole(de, 1, 10_000)
}

pub(super) fn timeout<'de, D: Deserializer<'de>>(de: D) -> Result<u32, D::Error> {
    whole(de, 1, 600_000)
}

pub(super) fn tokens<'de, D: Deserializer<'de>>(de: D) -> Result<Option<u64>, D::Error> {
    Option::<u64>::deserialize(de)
}

pub(super) fn rate<'de, D: Deserializer<'de>>(de: D) -> Result<f64, D::Error> {
    let rate = f64::deserialize(de)?;
    if (0.0001..=1_000.0).contains(&rate) {
        return Ok(rate);
    }
    Err(D::Error::custom("expected a number from 0.0001 to 1000 such as `0.5`"))
}

pub(super) fn dollars<'de, D: Deserializer<'de>>(de: D) -> Result<Option<f64>, D::Error> {
    let dollars = Option::<f64>::deserialize(de)?;
    if dollars.is_none_or(|dollars| (0.0..=1e9).contains(&dollars)) {
        return Ok(dollars);
    }
    Err(D::Error::custom("expected an amount of US dollars such as `2.50`"))
}

fn whole<'de, D: Deserializer<'de>>(de: D, least: u32, most: u32) -> Result<u32, D::Error> {
    let number = i64::deserialize(de)?;
    match u32::try_from(number) {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(D::Error::custom(format!("{number} is not a whole number from {least} to {most}"))),
    }
}

fn list<'de, D: Deserializer<'de>>(de: D, what: &str, fits: impl Fn(&str) -> bool) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<String>::deserialize(de)?;
    if entries.len() > ENTRIES_MAX {
        return Err(D::Error::custom(format!("has {} entries, and may have {ENTRIES_MAX}", entries.len())));
    }
    match entries.iter().find(|entry| entry.is_empty() || !fits(entry)) {
        Some(wrong) => Err(D::Error::custom(format!("`{}` is not {what}", base::text::headline(wrong, 60)))),
        None => Ok(entries),
    }
}
