-- What came in, once: the platform's event id is unique in its conversation.
CREATE TABLE inbox (
    id           INTEGER PRIMARY KEY,
    conversation TEXT    NOT NULL,
    event_id     TEXT    NOT NULL,
    sender       TEXT    NOT NULL,
    received_at  INTEGER NOT NULL,
    event        TEXT    NOT NULL,
    -- held: of an unknown sender, shown to nobody; denied: never to be read;
    -- received: to be placed; placed: in a topic's mailbox; taken: part of a turn; answered: by code, or needing nothing.
    state        TEXT    NOT NULL CHECK (state IN ('held', 'denied', 'received', 'placed', 'taken', 'answered')),
    topic        INTEGER REFERENCES topics (id),
    run          INTEGER REFERENCES runs (id) ON DELETE SET NULL,
    UNIQUE (conversation, event_id),
    CHECK (state NOT IN ('placed', 'taken') OR topic IS NOT NULL)
) STRICT;
CREATE INDEX inbox_received ON inbox (conversation, id) WHERE state = 'received';
CREATE INDEX inbox_placed ON inbox (topic, id) WHERE state = 'placed';
CREATE INDEX inbox_held ON inbox (sender, id) WHERE state = 'held';
CREATE INDEX inbox_of_run ON inbox (run) WHERE run IS NOT NULL;
CREATE INDEX inbox_by_age ON inbox (received_at);
-- How far each platform was read.
CREATE TABLE cursors (
    stream TEXT    PRIMARY KEY NOT NULL,
    value  TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
