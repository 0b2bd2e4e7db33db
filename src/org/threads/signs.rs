//! The signs by which one tells what a line answers. Each has one weight in `weights.rs`.

/// How two lines stand to each other by who wrote them and whom they speak to. "Mine" is the line that is placed,
/// "theirs" the earlier line that it may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub(super) enum Relation {
    /// One author, neither speaks to anybody.
    SameOpen,
    /// One author, only the new line speaks to somebody.
    SameNowCalls,
    /// One author, only the old line speaks to somebody.
    SameThenCalled,
    /// One author who speaks to the same person.
    SameCallsSame,
    /// One author who speaks to somebody else now.
    SameCallsOther,
    /// I speak to them and they spoke to me.
    BackAndForth,
    /// I speak to them, they spoke to nobody.
    ToOpen,
    /// I speak to them, they spoke to somebody else.
    ToBusy,
    /// They spoke to me, I speak to nobody.
    FromOpen,
    /// They spoke to me, I speak to somebody else.
    FromBusy,
    /// Both of us speak to a third.
    BothToThird,
    /// Two authors, neither speaks to anybody.
    OtherOpen,
    /// Two authors, only I speak to somebody (else).
    OtherNowCalls,
    /// Two authors, only they spoke to somebody (else).
    OtherThenCalled,
    /// Two authors who speak to different people.
    OtherBoth,
}

/// What the weights of a [`Relation`] are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub(super) enum Column {
    /// It holds.
    Holds,
    /// Times the logarithm of the number of lines between.
    Distance,
    /// It is the latest line of which it holds.
    Nearest,
    /// My author has not written lately (within the window).
    Fresh,
    /// My author has written in the window, but more than [`super::room::LATELY`] lines ago.
    Back,
}

/// What else speaks for or against that a line answers an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub(super) enum Sign {
    /// Times the logarithm of the minutes between.
    Gap,
    /// The same, if both have one author.
    GapSame,
    /// It is the line just before, of my author.
    NextSame,
    /// It is the line just before, of another author, and I speak to nobody.
    NextOther,
    /// It is the line just before, of another author, and I speak to somebody.
    NextAddressed,
    /// Many write at once; one author (see `Room::crowd` for its size).
    CrowdSame,
    /// Many write at once; one of us speaks to the other.
    CrowdAddressed,
    /// Many write at once; two authors who speak to nobody.
    CrowdOpen,
    /// Many write at once; two authors, somebody else is spoken to.
    CrowdOther,
    /// My author has written since.
    SpokeSince,
    /// My author has written since, and it was spoken to them.
    SpokeSinceCalled,
    /// Its author is who my author last talked with, and I speak to nobody.
    Partner,
    /// Its author last talked with mine.
    PartnerBack,
    /// Mine, theirs, mine: two who take turns without names.
    PingPong,
    /// How alike the words are, 0 to 1.
    Likeness,
    /// The same, of two authors.
    LikenessOther,
    /// What the shared words are worth, in tens.
    Shared,
    /// It asks and nobody has answered.
    Unanswered,
    /// The same, and neither speaks to anybody.
    UnansweredOpen,
    /// Both ask, two authors.
    BothAsk,
    /// I react ("yes", "lol"), two authors.
    Reaction,
    /// I react and it asks.
    ReactionToQuestion,
    /// I thank another author.
    Thanks,
    /// Both greet.
    GreetBack,
    /// Another author's greeting.
    AfterGreeting,
    /// Another author's thanks.
    AfterThanks,
    /// It has at most two words.
    AfterShort,
    /// Somebody else has answered it already.
    Answered,
    /// It called a bot.
    AfterCommand,
    /// It called a bot just now.
    AfterCommandNear,
    /// A bot answers a call of just now.
    BotAnswers,
    /// A bot answers anything of another.
    BotOther,
    /// I call a bot just after it.
    CommandNear,
    /// I have at most three words for nobody, two authors.
    ShortOther,
    /// The same, and it is one of the last two lines.
    ShortOtherNear,
    /// I have at most three words for nobody, one author, one of the last two lines.
    ShortSameNear,
    /// My author goes on ("and", "but").
    SameOnward,
    /// My author speaks to everybody.
    SamePlea,
    /// My author reacts.
    SameReaction,
    /// My author had greeted.
    SameAfterGreeting,
    /// Its topic is that of my author's last line; I speak to nobody.
    TopicOfMyLast,
    /// The same; I speak to somebody.
    TopicOfMyLastCalled,
    /// My author has written in its topic; I speak to nobody.
    TopicHasMe,
    /// The same; I speak to somebody.
    TopicHasMeCalled,
    /// My author writes here, but not in its topic.
    TopicStrange,
    /// Whom I speak to has written in its topic.
    TopicHasCalled,
    /// Whom I speak to wrote their last line there.
    TopicOfCalledLast,
    /// It is the last line of its topic.
    TopicNewest,
    /// It is the only line of its topic.
    TopicLone,
    /// How much of my words' worth its topic knows.
    TopicWords,
    /// Times the logarithm of the number of people in its topic.
    TopicPeople,
    /// Times the logarithm of the number of lines in its topic.
    TopicSize,
}

/// What speaks for or against that a line answers nothing and opens a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub(super) enum Opening {
    /// Always.
    Any,
    /// Its author has not written lately (within the window).
    Fresh,
    /// Its author has written in the window, but not in the last lines.
    Back,
    /// Nobody saw its author before.
    FirstEver,
    /// It speaks to somebody at its start.
    Calls,
    /// It names somebody inside.
    Names,
    /// Whom it speaks to has not written lately.
    CalledGone,
    /// It speaks to somebody who was never seen.
    CallsStranger,
    /// Somebody spoke to its author since their last line.
    WasCalled,
    /// Its author is in a conversation.
    InTalk,
    /// It greets.
    Greeting,
    /// It asks.
    Question,
    /// It asks nobody in particular, author fresh.
    QuestionFresh,
    /// It asks nobody in particular, author back.
    QuestionBack,
    /// It speaks to everybody.
    Plea,
    /// The same, to nobody by name, author active.
    PleaActive,
    /// The same, to nobody by name, author fresh.
    PleaFresh,
    /// The same, to nobody by name, author back.
    PleaBack,
    /// It reacts.
    Reaction,
    /// It goes on.
    Onward,
    /// It has a link.
    Link,
    /// It has eight words or more.
    Long,
    /// It has two words or fewer.
    Short,
    /// Times the logarithm of the lines since its author's last.
    MyDistance,
    /// Times the logarithm of the minutes since anybody's last line.
    Quiet,
    /// What its words are worth, in thirties, at most 2.
    Worth,
    /// Many write at once.
    Crowd,
}

/// Number of columns.
pub(super) const COLUMNS: usize = Column::Back as usize + 1;
/// Number of relations.
pub(super) const RELATIONS: usize = Relation::OtherBoth as usize + 1;
/// Number of signs.
pub(super) const SIGNS: usize = Sign::TopicSize as usize + 1;
/// Number of signs of an opening.
pub(super) const OPENINGS: usize = Opening::Crowd as usize + 1;

/// What was seen of one choice: numbers, each at the place of its weight. What is absent is nought.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence(pub(super) Vec<(usize, f64)>);

impl Evidence {
    pub(super) fn relation(&mut self, relation: Relation, column: Column, value: f64) {
        self.put(relation as usize * COLUMNS + column as usize, value);
    }

    pub(super) fn sign(&mut self, sign: Sign, value: f64) {
        self.put(RELATIONS * COLUMNS + sign as usize, value);
    }

    pub(super) fn opening(&mut self, opening: Opening, value: f64) {
        self.put(RELATIONS * COLUMNS + SIGNS + opening as usize, value);
    }

    pub(super) fn sign_if(&mut self, sign: Sign, holds: bool) {
        self.sign(sign, f64::from(u8::from(holds)));
    }

    pub(super) fn opening_if(&mut self, opening: Opening, holds: bool) {
        self.opening(opening, f64::from(u8::from(holds)));
    }

    fn put(&mut self, place: usize, value: f64) {
        if value != 0.0 {
            self.0.push((place, value));
        }
    }
}
