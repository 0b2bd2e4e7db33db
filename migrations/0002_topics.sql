-- A line of talk inside a conversation, with its own session of the main agent.
CREATE TABLE topics (
    id               INTEGER PRIMARY KEY,
    conversation     TEXT    NOT NULL,
    name             TEXT    NOT NULL CHECK (name <> ''),
    summary          TEXT    NOT NULL DEFAULT '',
    state            TEXT    NOT NULL CHECK (state IN ('active', 'idle', 'closed')),
    -- 'conversation': the whole place is one topic (a thread); 'code', 'model', 'person': who named it in a flat one.
    named_by         TEXT    NOT NULL CHECK (named_by IN ('conversation', 'code', 'model', 'person')),
    created_at       INTEGER NOT NULL,
    last_activity_at INTEGER NOT NULL
) STRICT;
CREATE INDEX topics_of_conversation ON topics (conversation, last_activity_at DESC) WHERE state <> 'closed';
CREATE UNIQUE INDEX one_topic_per_thread ON topics (conversation) WHERE named_by = 'conversation';
-- The topic that a person chose with /topic switch: their next messages go there until they choose another.
CREATE TABLE topic_choices (
    conversation TEXT    NOT NULL,
    sender       TEXT    NOT NULL,
    topic        INTEGER NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
    chosen_at    INTEGER NOT NULL,
    PRIMARY KEY (conversation, sender)
) STRICT, WITHOUT ROWID;
