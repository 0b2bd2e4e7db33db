//! Results that are too long: the model gets the beginning and the end, a file of the team gets all of it.

use super::Executor;
use crate::call::Call;
use crate::tool::ToolError;
use crate::workspace::blocking;

/// How long a result may be, and where it goes if it is longer.
pub(super) struct Bounds<'a> {
    pub executor: &'a Executor,
    pub call: &'a Call,
    /// Which call of its step it is, from 0.
    pub at: usize,
    pub bytes_max: usize,
}

impl Bounds<'_> {
    /// Step 9, after the scrubbing: the result itself, or its two ends.
    pub async fn fit(&self, content: String) -> String {
        if content.len() <= self.bytes_max {
            return content;
        }
        // The same call of the same turn writes the same file, also when it is made again.
        let name = format!("{}-{}-{}.txt", self.call.run, self.call.step, self.at);
        let (workspaces, team, whole) = (self.executor.workspaces.clone(), self.call.team.clone(), content.clone());
        let written = blocking(move || {
            let written = workspaces.of(&team)?.write_result(&name, &whole);
            written.map_err(|error| ToolError::Broken(anyhow::Error::new(error).context("write a long result")))
        });
        let place = match written.await {
            Ok(path) => format!("the whole is in `{path}`, which `read_file` shows"),
            Err(error) => {
                let chain = anyhow::Error::new(error);
                tracing::warn!("a result was too long, and the rest of it is lost: {chain:#}");
                "the rest could not be kept: ask for less".to_owned()
            }
        };
        shorten(&content, self.bytes_max, &place)
    }
}

/// The beginning and the end of `text` with a note between them, in at most `bytes_max` bytes where the note fits.
fn shorten(text: &str, bytes_max: usize, place: &str) -> String {
    // Room for the note, whose number is not longer than the text's length.
    let note_max = place.len() + 48 + text.len().to_string().len();
    let kept = bytes_max.saturating_sub(note_max);
    let head = &text[..text.floor_char_boundary(kept / 4 * 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - kept / 4)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[… {left_out} bytes left out here: {place} …]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ends_of_a_long_text_are_kept(text in "\\PC{300,900}", bytes_max in 150_usize..300) {
            prop_assume!(text.len() > bytes_max);
            let short = shorten(&text, bytes_max, "it is in `x`");
            prop_assert!(short.len() <= bytes_max, "{} > {bytes_max}", short.len());
            let (head, rest) = short.split_once("\n[… ").unwrap();
            let (_, tail) = rest.rsplit_once(" …]\n").unwrap();
            prop_assert!(!head.is_empty() && text.starts_with(head) && text.ends_with(tail));
            let number: usize = rest.split(' ').next().unwrap().parse().unwrap();
            prop_assert_eq!(number, text.len() - head.len() - tail.len());
        }
    }
}
