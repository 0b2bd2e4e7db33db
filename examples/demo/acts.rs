//! What happens, written once for both platforms. Every act checks what it shows.

use std::time::Duration;

use anyhow::{Result, ensure};
use fakes::model::{ModelServer, Reply};

use crate::side::{Person, Seen, Side};
use crate::transcript::Line;

use Person::{Admin, Guest};

/// What the guest says first.
const OPENING: &str = "The release is on Friday";
/// The question whose answer is slow, and the one whose answer is slow and cut off.
const SLOW_QUESTION: &str = "Tell me a story.";
const CUT_QUESTION: &str = "And how does it end?";
/// What the scripted model says to them.
const STORY: &str = "Once there was a hive that wrote everything down before it did it. Bees came and went, doors \
                     opened and fell shut, letters arrived by two different roads, and some of them arrived twice. \
                     The bees only shrugged: it was all in the book. In the morning nobody had to ask what had been \
                     promised, and nobody was told the same thing again.";
const END: &str = "One night the lights went out in the middle of a sentence. For a while there was nothing, not even \
                   the hum. When the lights came back, the hive did not remember a thing. It opened its own book, \
                   found the place where the ink stopped, and finished what it had begun: once, and not twice.";
/// How many pieces a slow answer has, and the wait before each: about four seconds in all.
const PIECES: usize = 26;
const PACE: Duration = Duration::from_millis(125);

/// Has the model tell its stories slowly.
pub fn script(model: &ModelServer) {
    // Which topic a message belongs to: it does not know, and the latest gets it.
    model.rule_by(|asked| asked.tools.is_empty().then(|| Reply::text(r#"{"unsure": true}"#)));
    model.rule(SLOW_QUESTION, Reply::text(STORY).in_chunks(PIECES).paced(PACE));
    model.rule(CUT_QUESTION, Reply::text(END).in_chunks(PIECES).paced(PACE));
}

/// How often the model was asked the question whose turn was cut off.
pub fn asked_for_the_cut_story(model: &ModelServer) -> usize {
    let last_words = |request: &fakes::model::Recorded| {
        let body = request.json();
        let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let last = body["messages"].as_array().and_then(|messages| messages.last().cloned()).unwrap_or_default();
        has_tools && last["content"].to_string().contains(CUT_QUESTION)
    };
    model.requests().iter().filter(|request| last_words(request)).count()
}

fn said(person: Person, text: &str) -> Line {
    Line::new(person.name(), text)
}

fn shown(seen: &Seen) -> Line {
    let buttons: String = seen.buttons.iter().map(|label| format!("[{label}] ")).collect();
    Line::new("hive", format!("{}\n{}", seen.text, buttons.trim_end()))
}

fn aside(text: &str) -> Line {
    Line::new("", format!("({text})"))
}

/// The hive does not know the guest, says so once, and asks the admin.
pub async fn stranger(side: &Side) -> Result<Vec<Line>> {
    side.says(Guest, OPENING);
    let told = side.answer(Guest, 0, "I don't know you yet").await?;
    let notice = notice(side).await?;
    Ok(vec![said(Guest, OPENING), shown(&told), aside("the admin sees:"), shown(&notice)])
}

/// The notice about this side's guest. Every admin gets those about all platforms.
async fn notice(side: &Side) -> Result<Seen> {
    let guest = side.id(Guest);
    let about = |it: &&Seen| it.buttons.len() == 2 && it.text.contains(&guest);
    side.sees(Admin, "a notice with buttons", |shown| shown.iter().find(about).cloned()).await
}

/// The admin presses the button, and the guest is heard.
pub async fn trusted(side: &Side) -> Result<Vec<Line>> {
    ensure!(side.screen(Guest).len() == 1, "the guest was told more than once");
    let notice = notice(side).await?;
    side.presses(Admin, &notice, "Trust")?;
    let settled = |shown: &[Seen]| shown.iter().find(|it| it.id == notice.id && it.buttons.is_empty()).cloned();
    let settled = side.sees(Admin, "the notice settled", settled).await?;
    let heard = side.answer(Guest, 1, "You wrote").await?;
    Ok(vec![said(Admin, "presses [Trust]"), shown(&settled), aside("the guest sees:"), shown(&heard)])
}

/// The guest opens a second topic, and goes back to the first one.
pub async fn topics(side: &Side) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut ask = async |words: &str, expected: &str| -> Result<()> {
        let before = side.screen(Guest).len();
        side.says(Guest, words);
        let answer = side.answer(Guest, before, expected).await?;
        lines.extend([said(Guest, words), shown(&answer)]);
        Ok(())
    };
    let switch = async |command: &str, option: &str, value: &str, expected: &str| -> Result<[Line; 2]> {
        let before = side.screen(Guest).len();
        side.commands(Guest, command, option, value);
        let answer = side.answer(Guest, before, expected).await?;
        Ok([said(Guest, &format!("/{command} {value}")), shown(&answer)])
    };
    let opened = switch("topic new", "name", "Lunch", "Lunch").await?;
    ask("Soup or salad?", "message 1 of this topic").await?;
    let back = switch("topic switch", "topic", "the release", "The release is on Friday").await?;
    ask("Is it still Friday?", "message 2 of this topic").await?;
    let tail = lines.split_off(2);
    Ok([opened.to_vec(), lines, back.to_vec(), tail].concat())
}

/// A slow answer, at some of the moments at which it could be seen.
pub async fn growing(side: &Side) -> Result<Vec<Line>> {
    let before = side.screen(Guest).len();
    side.says(Guest, SLOW_QUESTION);
    let mut stages: Vec<Seen> = Vec::new();
    while stages.last().is_none_or(|stage| stage.text != STORY) {
        let known = stages.last().cloned();
        let newer = |shown: &[Seen]| shown.get(before).filter(|it| Some(*it) != known.as_ref()).cloned();
        stages.push(side.sees(Guest, "the story grow", newer).await?);
    }
    ensure!(stages.len() >= 3, "it did not grow: {stages:#?}");
    ensure!(stages.iter().all(|stage| stage.id == stages[0].id), "it is not one message: {stages:#?}");
    ensure!(side.screen(Guest).len() == before + 1, "there is more than one message");
    let first = format!("{}  (draft)", stages[0].text);
    let middle = format!("{}  (edited)", stages[stages.len() / 2].text);
    let last = format!("{STORY}  (the same message, changed {} times)", stages.len() - 1);
    let lines = [first, middle, last].map(|text| Line::new("hive", text));
    Ok([vec![said(Guest, SLOW_QUESTION)], lines.to_vec()].concat())
}

/// A slow answer begins. Its draft has been changed once, so the hive has noted where it stands.
pub async fn cut_off(side: &Side) -> Result<Vec<Line>> {
    let before = side.screen(Guest).len();
    side.says(Guest, CUT_QUESTION);
    let draft = side.sees(Guest, "a draft", |shown| shown.get(before).cloned()).await?;
    let newer = |shown: &[Seen]| shown.get(before).filter(|it| **it != draft).cloned();
    let draft = side.sees(Guest, "the draft grow", newer).await?;
    ensure!(draft.text != END, "it was already finished");
    Ok(vec![said(Guest, CUT_QUESTION), Line::new("hive", format!("{}  (draft)", draft.text))])
}

/// What became of the turn that was cut off.
pub struct Finished {
    /// What the guest saw.
    pub lines: Vec<Line>,
    /// How often the whole answer stands on the guest's screen.
    pub copies: usize,
}

/// The turn ends, and the next question shows that nothing comes after it.
pub async fn finished(side: &Side) -> Result<Finished> {
    let whole = |shown: &[Seen]| shown.iter().find(|it| it.text == END).cloned();
    let answer = side.sees(Guest, "the end of the story", whole).await?;
    let before = side.screen(Guest).len();
    side.says(Guest, "Thank you!");
    let next = side.answer(Guest, before, "Thank you!").await?;
    let screen = side.screen(Guest);
    ensure!(screen.iter().all(|it| !it.text.ends_with('…')), "an unfinished draft is left: {screen:#?}");
    let opening: String = END.chars().take(24).collect();
    let copies = screen.iter().filter(|it| it.text.contains(&opening)).count();
    Ok(Finished { lines: vec![shown(&answer), said(Guest, "Thank you!"), shown(&next)], copies })
}
