//! Errors in words for people. Nothing internal reaches a chat.

use llm::ModelError;

/// What a person is told when the model failed.
pub(super) fn of_model(error: &ModelError) -> String {
    format!("⚠️ {}", error.class.sentence_for_people())
}

/// What a person is told when the fault is ours.
pub(super) const OURS: &str =
    "⚠️ Something went wrong on my side, and I could not finish this. An admin finds the reason in my log.";

/// What a person is told when the turn took too many steps.
pub(super) fn of_steps(steps: i64) -> String {
    format!("⚠️ I stopped after {steps} steps; what I have may be incomplete. Tell me to go on if I should.")
}

/// What a person is told when the turn took too long.
pub(super) const TOO_LONG: &str = "⚠️ I stopped because this took too long. Tell me to go on if I should.";

/// What a person is told when the model said nothing.
pub(super) const NOTHING_SAID: &str = "⚠️ My language model gave an empty answer. Please ask again.";

/// What a person is told when the answer was cut off by the model's own limit.
pub(super) const CUT_OFF: &str = "\n\n⚠️ The answer was longer than I may write at once. Tell me to go on if I should.";

/// What a person is told when a turn was begun again and again without an end.
pub const GIVEN_UP: &str = "⚠️ I tried to answer this several times and was interrupted each time. Please ask again.";

/// What a person and other teams are told when a team's task was begun again and again without an end.
pub(super) const WORK_GIVEN_UP: &str =
    "⚠️ I began this several times and was interrupted each time, so I have given it up. Give it again if it matters.";

/// What stands under a text that was not finished because a person stopped it.
pub(super) const STOPPED: &str = "⏹️ Stopped.";
