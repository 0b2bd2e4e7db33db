//! What a single value may look like: text → meaning, or the sentence that says what would be right.

use std::ops::RangeInclusive;
use std::time::Duration;

use llm::MicroUsd;
use url::Url;

use super::fault::{quoted_list, shown};

/// How one value is written. Used for keys of files and for variables alike.
pub(super) struct Form<T> {
    /// What would be right, to follow "expected".
    pub(super) expected: String,
    read: Reading<T>,
    explain: Explain,
}

/// The meaning of a text, where it has one.
type Reading<T> = Box<dyn Fn(&str) -> Option<T>>;

/// How a refused text is spoken of.
enum Explain {
    /// It is shown, with what would be right.
    Show,
    /// It is shown with the word that was probably meant.
    Suggest(Vec<&'static str>),
    /// It may be secret: only what is wrong with it is said.
    Hide(Box<dyn Fn(&str) -> String>),
}

impl<T> Form<T> {
    /// A form of its own. A text that is refused is shown in the error.
    pub(super) fn new(expected: impl Into<String>, read: impl Fn(&str) -> Option<T> + 'static) -> Self {
        Form { expected: expected.into(), read: Box::new(read), explain: Explain::Show }
    }

    /// The same, but a text that is refused is not shown: `why` says what is wrong with it.
    pub(super) fn hidden(mut self, why: impl Fn(&str) -> String + 'static) -> Self {
        self.explain = Explain::Hide(Box::new(why));
        self
    }

    /// The same, but the word that was probably meant is named where a text is refused.
    pub(super) fn suggesting(mut self, words: &[&'static str]) -> Self {
        self.explain = Explain::Suggest(words.to_vec());
        self
    }

    /// The same texts with another meaning.
    pub(super) fn map<U>(self, meaning: impl Fn(T) -> U + 'static) -> Form<U>
    where
        T: 'static,
    {
        let read = self.read;
        Form { expected: self.expected, read: Box::new(move |text| read(text).map(&meaning)), explain: self.explain }
    }

    /// The meaning of `text`, or what is wrong with it.
    pub(super) fn read(&self, text: &str) -> Result<T, String> {
        (self.read)(text).ok_or_else(|| match &self.explain {
            Explain::Show => format!("found {}, expected {}", shown(text), self.expected),
            Explain::Suggest(words) => {
                let hint =
                    base::text::meant(text, words.iter().copied()).map(|word| format!("; did you mean `{word}`?"));
                format!("found {}, expected {}{}", shown(text), self.expected, hint.unwrap_or_default())
            }
            Explain::Hide(why) => why(text),
        })
    }
}

/// A whole number within bounds.
pub(super) fn whole(range: RangeInclusive<u64>) -> Form<u64> {
    let expected = format!("a whole number from {} to {}", range.start(), range.end());
    Form::new(expected, move |text| digits(text).filter(|number| range.contains(number)))
}

/// `true` or `false`.
pub(super) fn flag() -> Form<bool> {
    one_of(&[("true", true), ("false", false)])
}

/// One of a few words.
pub(super) fn one_of<T: Copy + 'static>(words: &'static [(&'static str, T)]) -> Form<T> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let expected = quoted_list(&names, "or");
    let read = move |text: &str| words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    Form::new(expected, read).suggesting(&names)
}

/// A span of time within bounds, both written as in the file.
pub(super) fn duration(min: &'static str, max: &'static str) -> Form<Duration> {
    let bound = |text| read_duration(text).expect("a bound of ours is well formed");
    let range = bound(min)..=bound(max);
    let expected = format!("a time from `{min}` to `{max}`, such as `90s`, `2h` or `14d`");
    Form::new(expected, move |text| read_duration(text).filter(|time| range.contains(time)))
}

/// A number of bytes within bounds, both written as in the file.
pub(super) fn size(min: &'static str, max: &'static str) -> Form<u64> {
    let bound = |text| read_size(text).expect("a bound of ours is well formed");
    let range = bound(min)..=bound(max);
    let expected = format!("a size from `{min}` to `{max}`, such as `500KB` or `10MB`");
    Form::new(expected, move |text| read_size(text).filter(|size| range.contains(size)))
}

/// An amount of US dollars, as millionths of a dollar.
pub(super) fn usd() -> Form<MicroUsd> {
    Form::new("an amount of US dollars from 0 to 1000000 such as `2.50`, with at most 6 decimals", read_micro_usd)
}

/// A media type, `image/png`, or all of a family, `image/*`, in lower case.
pub(super) fn media_type() -> Form<String> {
    Form::new("a media type such as `application/pdf` or `image/*`", |text| {
        let word = |part: &str| {
            let letters = part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_'));
            !part.is_empty() && letters
        };
        let (family, kind) = text.split_once('/')?;
        (word(family) && (kind == "*" || word(kind))).then(|| text.to_ascii_lowercase())
    })
}

/// A name that the writer chooses: of a profile.
pub(super) fn name() -> Form<String> {
    Form::new("a name of letters, digits, `_`, `-` and `.`, at most 60", |text| {
        let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        (letters && (1..=60).contains(&text.len())).then(|| text.to_owned())
    })
}

/// A word without white space, at most 200 characters.
pub(super) fn word(what: &'static str) -> Form<String> {
    Form::new(what, |text| {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        (!text.contains(odd) && (1..=200).contains(&text.len())).then(|| text.to_owned())
    })
}

/// The name of a variable. Whoever puts a key there instead of the name of a variable does not see it shown.
pub(super) fn variable_name() -> Form<String> {
    let form = Form::new("the name of a variable such as `MY_API_KEY`", |text| {
        let begins = text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        let letters = text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        (begins && letters && text.len() <= 100).then(|| text.to_owned())
    });
    form.hidden(|_| {
        "expected the name of a variable in capital letters, such as `MY_API_KEY`, not the key itself".to_owned()
    })
}

/// The address of a server: `http` or `https`, without user, query and fragment. It comes out without a slash at the
/// end.
pub(super) fn url() -> Form<String> {
    form_of_url(|text| fault_of_url(text).or_else(|| text.contains('?').then_some("has a query (`?…`)")))
}

/// The same, but it may have a query, which some servers of models want.
pub(super) fn url_with_query() -> Form<String> {
    form_of_url(fault_of_url)
}

/// An address may hold a password or a token, so it is never shown.
fn form_of_url(fault: fn(&str) -> Option<&'static str>) -> Form<String> {
    let form = Form::new("the address of a server such as `https://api.example.com`", move |text| {
        if fault(text).is_some() {
            return None;
        }
        let url = Url::parse(text).ok()?;
        // A slash at the end of a query is part of the query.
        let queried = url.query().is_some();
        Some(if queried { url.to_string() } else { url.as_str().trim_end_matches('/').to_owned() })
    });
    form.hidden(move |text| {
        let fault = fault(text).unwrap_or("cannot be used");
        format!("the address {fault}; expected one such as `https://api.example.com`")
    })
}

fn fault_of_url(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("is empty");
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'')) {
        return Some("holds white space or quotes");
    }
    let Ok(url) = Url::parse(text) else { return Some("cannot be read (`http://` or `https://` is missing?)") };
    if !matches!(url.scheme(), "http" | "https") {
        return Some("does not begin with `http://` or `https://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("holds a user name or password");
    }
    url.fragment().is_some().then_some("has a fragment (`#…`)")
}

fn digits(text: &str) -> Option<u64> {
    // `parse` alone would take `+5`.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A whole number, then its unit; a blank may stand between them.
fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    Some((digits(&text[..split])?, text[split..].trim_start_matches(' ')))
}

fn read_duration(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit_ms).map(Duration::from_millis)
}

fn read_size(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let unit_bytes: u64 = match unit {
        "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit_bytes)
}

/// Decimal digits are moved, not multiplied: money never passes through a float.
fn read_micro_usd(text: &str) -> Option<MicroUsd> {
    const DECIMALS: usize = 6;
    const DOLLARS_MAX: u64 = 1_000_000;
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    if whole.is_empty() || decimals.is_empty() || decimals.len() > DECIMALS {
        return None;
    }
    let whole = digits(whole).filter(|dollars| *dollars <= DOLLARS_MAX)?;
    let micro = whole * 1_000_000 + digits(&format!("{decimals:0<DECIMALS$}"))?;
    (micro <= DOLLARS_MAX * 1_000_000).then_some(micro)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sizes_and_dollars_mean_what_they_say() {
        let times = [("500ms", 500), ("90s", 90_000), ("15m", 900_000), ("2 h", 7_200_000), ("14d", 1_209_600_000)];
        for (text, ms) in times {
            assert_eq!(read_duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for (text, bytes) in [("0B", 0), ("500KB", 500_000), ("10MB", 10_000_000), ("1 MiB", 1_048_576)] {
            assert_eq!(read_size(text), Some(bytes), "{text}");
        }
        let dollars = [("0", 0), ("3", 3_000_000), ("2.5", 2_500_000), ("0.075", 75_000), ("0.000001", 1)];
        for (text, micro) in dollars {
            assert_eq!(read_micro_usd(text), Some(micro), "{text}");
        }
    }

    #[test]
    fn what_is_nearly_a_time_a_size_or_an_amount_is_refused() {
        for text in ["", "5", "h", "-5s", "+5s", "1.5h", "5S", "5 minutes", "1h30m", "99999999999999999999s", "٣s"] {
            assert_eq!(read_duration(text), None, "{text:?}");
        }
        for text in ["", "10", "MB", "10mb", "10M", "1.5MB", "-1B", "99999999999999999999GB", "20000000000GiB"] {
            assert_eq!(read_size(text), None, "{text:?}");
        }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "$1", "1,5", "0.0000001", "1000000.1", "2000000"] {
            assert_eq!(read_micro_usd(text), None, "{text:?}");
        }
    }
}
