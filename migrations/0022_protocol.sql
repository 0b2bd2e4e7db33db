-- What a task says of itself while its turn runs, to whoever gave it. What it asks stands in questions.
CREATE TABLE task_progress (
    task     INTEGER PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    -- Null while it has only reported.
    status   TEXT    CHECK (status IN ('in_progress', 'completed', 'failed')),
    -- What it came to, why it failed, or how far it is; without secrets.
    text     TEXT    NOT NULL DEFAULT '',
    said_at  INTEGER,
    -- The last call that told its giver something, so that a call that a crash cut off tells it once.
    reported TEXT,
    -- When people were last shown a line of it.
    shown_at INTEGER,
    CHECK ((status IS NULL) = (said_at IS NULL))
) STRICT;
