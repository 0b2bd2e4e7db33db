//! How good the search is, on a collection of documents with judged questions.
//!
//! A folder in the manner of TREC holds three files, known by their names: documents (`*docs*`, `<DOC>` with
//! `<DOCNO>`), questions (`*quer*` or `*topic*`, `<top>` with `<num>` and `<title>`) and judgements (`*qrel*`, lines
//! `question 0 document grade`). Every document is saved as an entry under its number, every question is asked
//! through the search that teams use, and SQLite's own ranking of the same words is measured beside it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base::{Moment, TeamName};
use serde::Serialize;
use store::{Conn, Db};

use super::search::RESULTS_MAX;
use super::{Kind, Library, draft, question, save, search, stop};

/// How deep rankings are measured.
const DEPTH: usize = RESULTS_MAX;
/// How many documents are saved in one transaction.
const BATCH: usize = 500;
/// All documents are saved at one moment: age plays no part.
const NOW: Moment = 0;

/// A collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// Number and text.
    pub documents: Vec<(String, String)>,
    /// Number and text.
    pub questions: Vec<(String, String)>,
    /// The grade of a document for a question; above 0 it answers.
    pub judgements: HashMap<String, HashMap<String, u32>>,
}

/// Means over all questions that have an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Scores {
    /// Normalised discounted cumulative gain of the first ten results.
    pub ndcg_at_10: f64,
    /// Mean average precision over a thousand results.
    pub map: f64,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Documents that were saved.
    pub documents: usize,
    /// Questions that were asked: those with an answer.
    pub questions: usize,
    /// The model.
    pub model: String,
    /// Words and vectors together.
    pub fusion: Scores,
    /// SQLite's full-text ranking alone.
    pub fts: Scores,
}

/// Reads a collection.
///
/// # Errors
/// If a file is missing or cannot be read, or one of them has nothing in it.
pub fn read(folder: &Path) -> Result<Collection> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .with_context(|| format!("read {}", folder.display()))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort_unstable();
    let text = |what: &str, parts: &[&str]| -> Result<String> {
        let fits = |name: &&String| parts.iter().any(|part| name.to_lowercase().contains(part));
        let name = names.iter().find(fits).with_context(|| format!("no file of {what} in {}", folder.display()))?;
        let bytes = fs::read(folder.join(name)).with_context(|| format!("read {name}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let collection = Collection {
        documents: documents(&text("documents", &["docs", "corpus"])?),
        questions: questions(&text("questions", &["quer", "topic"])?),
        judgements: judgements(&text("judgements", &["qrel"])?)?,
    };
    ensure!(!collection.documents.is_empty(), "no <DOC> in the documents");
    ensure!(!collection.questions.is_empty(), "no <top> in the questions");
    ensure!(!collection.judgements.is_empty(), "no line in the judgements");
    Ok(collection)
}

fn documents(text: &str) -> Vec<(String, String)> {
    let document = |part: &str| {
        let (number, rest) = element(part, "DOCNO")?;
        Some((number.trim().to_owned(), without_tags(rest)))
    };
    text.split("<DOC>").skip(1).filter_map(|part| document(part.split("</DOC>").next()?)).collect()
}

fn questions(text: &str) -> Vec<(String, String)> {
    let asked = |part: &str| {
        let (number, _) = element(part, "num")?;
        let (title, _) = element(part, "title")?;
        let number = number.trim().trim_start_matches("Number:").trim();
        Some((number.to_owned(), title.trim().to_owned()))
    };
    text.split("<top>").skip(1).filter_map(asked).collect()
}

/// What stands in an element, up to its end or the next one (old collections leave ends out), and what follows.
fn element<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inside, after) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
    Some((inside, after.strip_prefix(&format!("</{name}>")).unwrap_or(after)))
}

fn without_tags(text: &str) -> String {
    let parts = text.split('<').enumerate().map(|(at, part)| match (at, part.split_once('>')) {
        (0, _) | (_, None) => part,
        (_, Some((_, after))) => after,
    });
    parts.collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn judgements(text: &str) -> Result<HashMap<String, HashMap<String, u32>>> {
    let mut found: HashMap<String, HashMap<String, u32>> = HashMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [question, _, document, grade] = fields[..] else { anyhow::bail!("`{line}` is no judgement") };
        let grade: i64 = grade.parse().with_context(|| format!("`{line}` has no grade"))?;
        let grade = u32::try_from(grade.max(0))?;
        found.entry(question.to_owned()).or_default().insert(document.to_owned(), grade);
    }
    Ok(found)
}

/// Saves the collection in a database made for it, asks everything and measures.
///
/// # Errors
/// If the database fails, or no question has an answer.
pub async fn run(collection: &Collection, db: &Db, library: &Library) -> Result<Report> {
    let team = TeamName::main();
    fill(collection, db, library, &team).await?;
    let (mut fusion, mut fts) = (Vec::new(), Vec::new());
    for (number, text) in &collection.questions {
        let Some(grades) = collection.judgements.get(number).filter(|grades| grades.values().any(|grade| *grade > 0))
        else {
            continue;
        };
        let asked = question(library, text).await;
        let of_fusion = async |conn: &mut Conn| search(conn, library, &team, &asked, DEPTH, NOW).await;
        let keys: Vec<String> = db.read(of_fusion).await?.into_iter().map(|hit| hit.key).collect();
        fusion.push(measure(&keys, grades));
        let keys = db.read(async |conn: &mut Conn| by_fts(conn, &team, text).await).await?;
        fts.push(measure(&keys, grades));
    }
    ensure!(!fusion.is_empty(), "no question has a document that answers it");
    Ok(Report {
        documents: collection.documents.len(),
        questions: fusion.len(),
        model: library.embedder().name().to_owned(),
        fusion: mean(&fusion),
        fts: mean(&fts),
    })
}

async fn fill(collection: &Collection, db: &Db, library: &Library, team: &TeamName) -> Result<()> {
    for batch in collection.documents.chunks(BATCH) {
        let mut drafts = Vec::with_capacity(batch.len());
        for (number, text) in batch.iter().filter(|(_, text)| !text.is_empty()) {
            drafts.push(draft(library, number, text, Kind::Reference).await?);
        }
        let keep = async |conn: &mut Conn| {
            for draft in &drafts {
                save(conn, team, draft, None, None, NOW).await??;
            }
            Ok(())
        };
        db.note("save documents", keep).await?;
    }
    Ok(())
}

/// SQLite's ranking: all words in any place, its own weights, stop words left out as in our search.
async fn by_fts(conn: &mut Conn, team: &TeamName, text: &str) -> Result<Vec<String>> {
    let words = stop::content_words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ranked = store::memory::ranked(conn, team, &words, (1.0, 1.0), u32::try_from(DEPTH)?).await?;
    let chunks: Vec<i64> = ranked.iter().map(|(chunk, _)| *chunk).collect();
    let keys: HashMap<i64, String> =
        store::memory::found(conn, team, &chunks).await?.into_iter().map(|found| (found.chunk, found.key)).collect();
    let mut unique: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for key in chunks.iter().filter_map(|chunk| keys.get(chunk)) {
        if seen.insert(key) {
            unique.push(key.clone());
        }
    }
    Ok(unique)
}

/// The measures of one ranking. `grades` has an answer.
fn measure(ranking: &[String], grades: &HashMap<String, u32>) -> Scores {
    let gain = |grade: u32, at: usize| f64::from(grade) / (at as f64 + 2.0).log2();
    let mut ideal: Vec<u32> = grades.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best: f64 = ideal.iter().take(10).enumerate().map(|(at, grade)| gain(*grade, at)).sum();
    let answers = grades.values().filter(|grade| **grade > 0).count();
    let (mut sum, mut hits, mut precision) = (0.0, 0_u32, 0.0);
    for (at, key) in ranking.iter().enumerate() {
        let grade = grades.get(key).copied().unwrap_or(0);
        if at < 10 {
            sum += gain(grade, at);
        }
        if grade > 0 {
            hits += 1;
            precision += f64::from(hits) / (at as f64 + 1.0);
        }
    }
    Scores { ndcg_at_10: sum / best, map: precision / answers as f64 }
}

fn mean(scores: &[Scores]) -> Scores {
    let count = scores.len() as f64;
    let sum = |of: fn(&Scores) -> f64| scores.iter().map(of).sum::<f64>() / count;
    Scores { ndcg_at_10: sum(|scores| scores.ndcg_at_10), map: sum(|scores| scores.map) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_trec_are_read() {
        let docs = "<DOC>\n<DOCNO> a1 </DOCNO>\n<TITLE>One</TITLE> two\n</DOC>\n<DOC><DOCNO>b</DOCNO>three</DOC>";
        let expected = [("a1".to_owned(), "One  two".to_owned()), ("b".to_owned(), "three".to_owned())];
        assert_eq!(documents(docs), expected);
        let tops =
            "<top>\n<num> Number: 7\n<title> deep\nsea\n<desc> more\n</top><top><num>8</num><title>x</title></top>";
        let expected = [("7".to_owned(), "deep\nsea".to_owned()), ("8".to_owned(), "x".to_owned())];
        assert_eq!(questions(tops), expected);
        assert_eq!(
            judgements("7 0 a1 2\n\n7 0 b -1\n").unwrap()["7"],
            HashMap::from([("a1".into(), 2), ("b".into(), 0)])
        );
        assert!(judgements("7 0 a1").is_err());
    }

    /// By hand: gains 0, 2/log2(3), 0, 1/log2(5); ideal 2, 1/log2(3). Precisions 1/2 and 2/4 of 3 answers.
    #[test]
    fn the_measures_are_the_known_ones() {
        let grades =
            HashMap::from([("a".to_owned(), 2), ("b".to_owned(), 1), ("c".to_owned(), 0), ("d".to_owned(), 1)]);
        let ranking = ["c", "a", "x", "b"].map(str::to_owned);
        let scores = measure(&ranking, &grades);
        let ideal = 2.0 + 1.0 / 3f64.log2() + 1.0 / 2.0;
        assert!((scores.ndcg_at_10 - (2.0 / 3f64.log2() + 1.0 / 5f64.log2()) / ideal).abs() < 1e-12);
        assert!((scores.map - (0.5 + 0.5) / 3.0).abs() < 1e-12);
    }
}
