//! The guard for outsiders: one JSON object in, one verdict out, without a look at the network.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Allowlist, GuardRules, Refusal, Target, compared, target};

/// What is asked. Other fields are left for whoever wrote them.
#[derive(Deserialize)]
struct Question {
    url: String,
    /// What a relative `url` is relative to, as in a redirect. It is judged as well.
    #[serde(default)]
    base: Option<String>,
    /// What names mean.
    #[serde(default, alias = "resolve")]
    resolver: Option<BTreeMap<String, Answers>>,
    #[serde(default, alias = "allowed_domains")]
    allowlist: Option<Vec<String>>,
}

/// The addresses of a name: one, or a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answers {
    One(String),
    Many(Vec<String>),
}

/// What the guard says of a URL: deterministic, and offline.
///
/// In: `url`; optionally `id` (comes back as it is), `resolver` or `resolve` (an object: host to address or list of
/// addresses), `allowlist` or `allowed_domains` (hosts, `*.example.org` for all names under one; empty allows all) and
/// `base` (what a relative `url` is relative to, as in a redirect). Other fields are not looked at.
/// Out: `id`, `decision`, `rule`, `detail`.
///
/// | decision | rule |
/// |---|---|
/// | `refuse` | which rule refused ([`super::Rule`]) |
/// | `allow` | `address`: all its addresses are public; `name`: judged by its name alone, for want of a `resolver` |
/// | `error` | `input`: the question cannot be read |
///
/// Where a `resolver` is given, a name that it does not list is refused as `unresolvable`. A URL with a user or
/// password is judged by its host like any other: they are left out of the request, and `detail` says so.
pub fn verdict(input: &Value) -> Value {
    let (decision, rule, detail) = match question(input) {
        Err(detail) => ("error", "input", detail),
        Ok((asked, allowed, table)) => match answer(&asked, &allowed, table.as_ref()) {
            Ok((rule, detail)) => ("allow", rule, detail),
            Err(refusal) => ("refuse", refusal.rule.as_str(), refusal.detail),
        },
    };
    json!({"id": input.get("id").unwrap_or(&Value::Null), "decision": decision, "rule": rule, "detail": detail})
}

type Table = BTreeMap<String, Vec<IpAddr>>;

fn question(input: &Value) -> Result<(Question, Allowlist, Option<Table>), String> {
    if !input.is_object() {
        return Err("the input is not an object".to_owned());
    }
    let mut asked = Question::deserialize(input).map_err(|error| error.to_string())?;
    let allowed =
        Allowlist::parse(asked.allowlist.as_deref().unwrap_or_default()).map_err(|error| error.to_string())?;
    let table = asked.resolver.take().map(table).transpose()?;
    Ok((asked, allowed, table))
}

fn table(given: BTreeMap<String, Answers>) -> Result<Table, String> {
    let mut table = Table::new();
    for (host, answers) in given {
        let name = compared(&host).ok_or_else(|| format!("resolver: `{host}` is not a host"))?;
        let answers = match answers {
            Answers::One(one) => vec![one],
            Answers::Many(many) => many,
        };
        for answer in answers {
            let bad = |_| format!("resolver: `{answer}` of {host} is not an address");
            table.entry(name.clone()).or_default().push(answer.parse().map_err(bad)?);
        }
    }
    Ok(table)
}

fn answer(asked: &Question, allowed: &Allowlist, table: Option<&Table>) -> Result<(&'static str, String), Refusal> {
    let rules = GuardRules::default();
    let target = match &asked.base {
        Some(base) => self::target(base, allowed, &rules)?.redirect(&asked.url, allowed, &rules)?,
        None => target(&asked.url, allowed, &rules)?,
    };
    let (rule, addresses) = match (target.literal(), table) {
        (Some(address), _) => ("address", target.at(&[address], &rules)?.len()),
        (None, Some(table)) => {
            let known = table.get(target.host()).map(Vec::as_slice).unwrap_or_default();
            ("address", target.at(known, &rules)?.len())
        }
        (None, None) => ("name", 0),
    };
    Ok((rule, words(&target, addresses)))
}

fn words(target: &Target, addresses: usize) -> String {
    let host = target.host();
    let mut words = match (target.literal(), addresses) {
        (Some(_), _) => format!("{host} is a public address"),
        (None, 0) => format!("{host} may be a public name: its addresses are judged before it is asked"),
        (None, 1) => format!("the one address of {host} is public"),
        (None, several) => format!("all {several} addresses of {host} are public"),
    };
    if target.had_credentials() {
        words.push_str("; the credentials in the URL are left out");
    }
    words
}
