-- The journaled record of one turn.
CREATE TABLE runs (
    id          INTEGER PRIMARY KEY,
    task        INTEGER NOT NULL UNIQUE REFERENCES tasks (id) ON DELETE CASCADE,
    team        TEXT    NOT NULL,
    topic       INTEGER REFERENCES topics (id),
    sender      TEXT,
    state       TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed', 'stopped')),
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    steps       INTEGER NOT NULL DEFAULT 0,
    note        TEXT    NOT NULL DEFAULT '',
    CHECK ((state = 'running') = (finished_at IS NULL))
) STRICT;
CREATE INDEX runs_of_topic ON runs (topic, id);
CREATE INDEX finished_runs ON runs (finished_at) WHERE finished_at IS NOT NULL;
-- What was said in a turn, in order: the person's words, the model's answers. Tool results stand in tool_calls.
CREATE TABLE journal (
    id      INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    topic   INTEGER REFERENCES topics (id),
    step    INTEGER NOT NULL,
    role    TEXT    NOT NULL CHECK (role IN ('user', 'assistant')),
    content TEXT    NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX journal_of_run ON journal (run, id);
CREATE INDEX journal_of_topic ON journal (topic, id);
-- One row per tool call: written before the effect, finished after it.
CREATE TABLE tool_calls (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step        INTEGER NOT NULL,
    call_id     TEXT    NOT NULL,
    tool        TEXT    NOT NULL,
    arguments   TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('started', 'finished', 'interrupted')),
    is_error    INTEGER NOT NULL DEFAULT 0,
    result      TEXT    NOT NULL DEFAULT '',
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    UNIQUE (run, step, call_id),
    CHECK ((state = 'started') = (finished_at IS NULL))
) STRICT;
-- The talk of a topic up to and including a journal row, in fewer words.
CREATE TABLE summaries (
    id          INTEGER PRIMARY KEY,
    topic       INTEGER NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
    upto        INTEGER NOT NULL,
    text        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    UNIQUE (topic, upto)
) STRICT;
