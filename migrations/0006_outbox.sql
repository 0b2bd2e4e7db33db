-- What goes out, one platform request a row, in the order of its conversation.
CREATE TABLE outbox (
    id               INTEGER PRIMARY KEY,
    conversation     TEXT    NOT NULL,
    topic            INTEGER REFERENCES topics (id),
    run              INTEGER REFERENCES runs (id) ON DELETE SET NULL,
    -- draft: a text still being written; due: to be sent at due_at; sending: an attempt is under way or was cut off;
    -- ambiguous: nobody knows whether it was sent, and by policy it is not sent again; dead: given up, note says why.
    state            TEXT    NOT NULL CHECK (state IN ('draft', 'due', 'sending', 'sent', 'ambiguous', 'dead')),
    action           TEXT    NOT NULL,
    -- Edit or delete what that row became; its message id is looked up when this one is sent.
    target           INTEGER REFERENCES outbox (id),
    reply_to         TEXT,
    handle           TEXT,
    attempts         INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    due_at           INTEGER NOT NULL,
    first_attempt_at INTEGER,
    finished_at      INTEGER,
    message_id       TEXT,
    note             TEXT    NOT NULL DEFAULT '',
    CHECK ((state IN ('sent', 'ambiguous', 'dead')) = (finished_at IS NOT NULL))
) STRICT;
CREATE INDEX outbox_open ON outbox (conversation, id) WHERE state IN ('due', 'sending');
CREATE INDEX outbox_drafts ON outbox (run) WHERE state = 'draft';
CREATE INDEX outbox_messages ON outbox (conversation, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX outbox_of_run ON outbox (run) WHERE run IS NOT NULL;
CREATE INDEX outbox_finished ON outbox (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX outbox_targets ON outbox (target) WHERE target IS NOT NULL;
-- For the checks that a topic may go.
CREATE INDEX outbox_of_topic ON outbox (topic) WHERE topic IS NOT NULL;
CREATE INDEX inbox_of_topic ON inbox (topic) WHERE topic IS NOT NULL;
CREATE INDEX tasks_of_topic ON tasks (topic) WHERE topic IS NOT NULL;
