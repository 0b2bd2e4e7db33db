//! Secrets that nobody has registered, known by their shape: for texts that are to hold none, such as a plugin's source.
//!
//! Three kinds: tokens that say what they are ([`tokens`]), values whose name tells a product ([`products`]), and values
//! that are called a password, key or token and look random. A placeholder, an example or a word is no secret.

mod products;
mod random;
mod tokens;
mod verdict;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::{Captures, Regex, RegexBuilder};

use products::{PRODUCTS, Product};
use random::{entropy, is_example, is_made_of_words};
use tokens::TOKENS;
pub use verdict::verdict;

/// What a kind of secret looks like.
struct Shape {
    name: &'static str,
    /// Texts of which one must be there, in lower case.
    words: &'static [&'static str],
    /// The whole form; the first group that took part, where there is one, is the secret.
    form: &'static str,
    /// The least entropy of the secret, in bits a character.
    entropy: f64,
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind it is: `github-token`.
    pub rule: &'static str,
    /// Where it stands, in bytes.
    pub place: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
}

/// Between a value's name and the value: the rest of the name, quotes, and a sign that assigns.
const ASSIGNED: &str = r#"[\w.\- \t]{0,20}[\\"'\]\s]{0,4}(?:=>|:{0,3}=|\?=|\|\||[:,>(])[\\"'`\s=]{0,6}"#;

/// After a value.
const ENDED: &str = r#"(?:[^0-9A-Za-z_+/=-]|$)"#;

/// What values that are secrets are called, and what is between name and value; the value follows.
const CALLED: &str = r#"(?i)([\w.-]{0,50}(?:access|auth|api|credential|creds|key|passw(?:or)?d|secret|token)"#;

/// Names of things that are not secret though a part of their name is: public keys, names of keys, places of tokens.
const NOT_SECRET: &str = r"(?i)access(?:ib|or)|access[_.-]?id|random[_.-]?access|api[_.-]?(?:id|name|version|url|endpoint)|rapid|capital|author|auth(?:entication)?[_.-]?(?:results|type|method|url|endpoint)|credentials?[_.-]?id|(?:bucket|foreign|hot|idx|natural|primary|public|pub|schema|sequence|partition|sort|cache|translation|object|map)[_.-]?key|turkey|monkey|donkey|hockey|keynote|key[_.-]?(?:alias|board|code|frame|id|length|name|pair|press|ring|size|stone|store|type|word|up|down|left|right|vault|file|path)|keying|secret[_.-]?(?:length|name|size|id|arn|version)|secrets?id|(?:csrf|xsrf|page|next|sync|continuation|cancellation|public)[_.-]?token|token[_.-]?(?:url|uri|endpoint|type|name|length|count|file|path|ize|ise|budget|limit)|tokens|fingerprint|checksum|integrity|sha\d|commit";

/// A rule that is ready to look.
struct Looking {
    name: &'static str,
    entropy: f64,
    /// It is about a name: the value may be anything, so a word or an example is none.
    by_name: bool,
    form: Form,
}

enum Form {
    Written(&'static str),
    Of(&'static Product),
    Called,
}

/// All rules, and what finds the texts without which none of them can apply.
struct Rules {
    words: AhoCorasick,
    /// For each word the rule that needs it.
    rule_of: Vec<usize>,
    rules: Vec<Looking>,
    /// Compiled at first need: most texts need none.
    compiled: Vec<OnceLock<Regex>>,
    not_secret: Regex,
}

static RULES: LazyLock<Rules> = LazyLock::new(Rules::new);

/// The secrets in a text, in the order in which they stand.
pub fn find(text: &str) -> Vec<Finding> {
    let mut needed = vec![false; RULES.rules.len()];
    for found in RULES.words.find_overlapping_iter(text) {
        needed[RULES.rule_of[found.pattern().as_usize()]] = true;
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (number, _) in needed.iter().enumerate().filter(|(_, needed)| **needed) {
        for place in RULES.look(number, text) {
            // One place has one name: the rules stand with the surer ones first.
            if findings.iter().all(|other| place.end <= other.place.start || other.place.end <= place.start) {
                let line = 1 + text[..place.start].matches('\n').count();
                findings.push(Finding { rule: RULES.rules[number].name, place, line });
            }
        }
    }
    findings.sort_by_key(|finding| finding.place.start);
    findings
}

/// Rules that need more than a form: names, words, form, entropy.
const SURROUNDED: &[Shape] = &[
    Shape {
        name: "url-credentials",
        words: &["://"],
        form: r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s/:@"'<>]{0,100}:([^\s/@"'<>$\{%*]{8,200})@[\w.-]+"#,
        entropy: 2.8,
    },
    Shape {
        name: "authorization-header",
        words: &["authorization", "x-api-key", "api-key", "x-auth-token", "private-token"],
        form: r#"(?i)\b(?:authorization["']?\s{0,3}[:=,]\s{0,3}["']?(?:(?:basic|bearer|token|api-token)\s+)?|(?:x-[a-z-]{0,20})?(?:api-?key|token)["']?\s{0,3}[:=,]\s{0,3}["']?)([\w=~@.+/-]{16,})"#,
        entropy: 2.75,
    },
    Shape {
        name: "curl-auth-header",
        words: &["curl"],
        form: r#"(?is)\bcurl\b.{0,2000}?\s(?:-H|--header)[= \t]{0,5}["'](?:authorization:[ \t]{0,5}(?:basic[ \t]+|bearer[ \t]+|(?:api-)?token[ \t]+)?|(?:x-(?:[a-z]+-)?)?(?:api-?)?(?:key|token):[ \t]{0,5})([\w=~@.+/-]{8,})["']"#,
        entropy: 2.75,
    },
    Shape {
        name: "curl-auth-user",
        words: &["curl"],
        form: r#"(?s)\bcurl\b.{0,2000}?\s(?:-u|--user)[= \t]{0,5}["']?(?:[^\s:"'$<\[{(]{0,100}:([^\s"'$<\[{(*]{4,200})|([^\s:"'$<\[{(]{12,100}):["'\s])"#,
        entropy: 2.0,
    },
    Shape {
        name: "kubernetes-secret-yaml",
        words: &["secret"],
        form: r#"(?is)\bkind:[ \t]*["']?secret\b.{0,300}?\bdata:.{0,200}?\s[\w.-]+:[ \t]*(?:[|>][-+]?\s+)?["']?([a-z0-9+/]{10,}={0,3})(?:["'\s]|$)"#,
        entropy: 2.0,
    },
    Shape {
        name: "kubernetes-secret-yaml",
        words: &["secret"],
        form: r#"(?is)\bdata:.{0,100}?\s[\w.-]+:[ \t]*(?:[|>][-+]?\s+)?["']?([a-z0-9+/]{10,}={0,3})["'\s].{0,300}?\bkind:[ \t]*["']?secret\b"#,
        entropy: 2.0,
    },
];

/// Of values that a product's name stands before.
const PRODUCT_ENTROPY: f64 = 2.0;

/// Of values that are called a key or password: random letters and digits have more, words less.
const CALLED_ENTROPY: f64 = 3.5;

impl Rules {
    fn new() -> Self {
        let mut rules = Vec::new();
        let (mut words, mut rule_of) = (Vec::new(), Vec::new());
        let mut add = |rule: Looking, needs: &[&'static str]| {
            words.extend_from_slice(needs);
            rule_of.extend(needs.iter().map(|_| rules.len()));
            rules.push(rule);
        };
        for Shape { name, words, form, entropy } in TOKENS.iter().chain(SURROUNDED) {
            let by_name = SURROUNDED.iter().any(|shape| shape.name == *name);
            add(Looking { name, entropy: *entropy, by_name, form: Form::Written(form) }, words);
        }
        for product in PRODUCTS {
            let form = Form::Of(product);
            add(Looking { name: product.name, entropy: PRODUCT_ENTROPY, by_name: false, form }, product.words);
        }
        let called = ["access", "auth", "api", "credential", "creds", "key", "passwd", "password", "secret", "token"];
        add(Looking { name: "generic-api-key", entropy: CALLED_ENTROPY, by_name: true, form: Form::Called }, &called);
        let compiled = rules.iter().map(|_| OnceLock::new()).collect();
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(&words);
        Rules {
            words: automaton.expect("the words are few and short"),
            rule_of,
            rules,
            compiled,
            not_secret: ascii(NOT_SECRET).expect("a test compiles every form"),
        }
    }

    fn regex(&self, number: usize) -> &Regex {
        self.compiled[number].get_or_init(|| self.rules[number].form.compile().expect("a test compiles every form"))
    }

    /// Where this rule finds a secret.
    fn look(&self, number: usize, text: &str) -> Vec<Range<usize>> {
        let rule = &self.rules[number];
        let secret = |captures: Captures<'_>| {
            let whole = captures.get(0)?;
            if matches!(rule.form, Form::Called) && self.not_secret.is_match(captures.get(1)?.as_bytes()) {
                return None;
            }
            let first = if matches!(rule.form, Form::Called) { 2 } else { 1 };
            let secret = (first..captures.len()).find_map(|group| captures.get(group)).unwrap_or(whole);
            // Forms are of bytes: one that ends inside of a character has found something else.
            let value = text.get(secret.range())?;
            let real =
                entropy(value) >= rule.entropy && !is_example(value) && !(rule.by_name && is_made_of_words(value));
            real.then(|| secret.range())
        };
        self.regex(number).captures_iter(text.as_bytes()).filter_map(secret).collect()
    }
}

impl Form {
    fn compile(&self) -> Result<Regex, regex::Error> {
        match self {
            Form::Written(form) => ascii(form),
            Form::Of(product) => {
                let words: Vec<String> = product.words.iter().map(|word| regex::escape(word)).collect();
                ascii(&format!("(?i)(?:{}){ASSIGNED}({}){ENDED}", words.join("|"), product.values.join("|")))
            }
            Form::Called => ascii(&format!(
                r#"{CALLED}{ASSIGNED})([\w.=-]{{10,150}}|[a-z0-9][a-z0-9+/]{{11,}}={{0,3}})(?:[\\"'`\s;,&<>)}}\]]|$)"#
            )),
        }
    }
}

/// A form whose classes are ASCII's: tokens are, and with all of Unicode in each `\w` a form would take megabytes.
fn ascii(form: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(form).unicode(false).build()
}
