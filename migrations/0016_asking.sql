-- Questions may want words, several choices, or a secret; they may be shown in several places; the first answer wins.
CREATE TABLE questions_anew (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step        INTEGER NOT NULL,
    call_id     TEXT    NOT NULL,
    -- The tool that asks, or that is asked about.
    tool        TEXT    NOT NULL,
    -- one: one of the options; several: any of them; words: a text; secret: a value that goes to the vault.
    kind        TEXT    NOT NULL CHECK (kind IN ('one', 'several', 'words', 'secret')),
    -- A JSON array of what can be chosen.
    options     TEXT    NOT NULL,
    -- A JSON array: which of several are ticked, until somebody says that this is all.
    ticked      TEXT    NOT NULL DEFAULT '[]',
    -- Who may answer besides admins; null where only an admin may.
    asker       TEXT,
    -- Where a secret goes.
    secret_team TEXT,
    secret_key  TEXT,
    asked_at    INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    -- nobody: too late, or nobody needs the answer any more.
    outcome     TEXT    CHECK (outcome IN ('chosen', 'said', 'entered', 'nobody')),
    -- A JSON array of the options' numbers.
    chosen      TEXT,
    said        TEXT,
    answered_by TEXT,
    answered_at INTEGER,
    UNIQUE (run, step, call_id),
    CHECK ((kind = 'secret') = (secret_team IS NOT NULL)),
    CHECK ((secret_team IS NULL) = (secret_key IS NULL)),
    CHECK ((outcome IS NULL) = (answered_at IS NULL)),
    CHECK (coalesce(outcome = 'chosen', 0) = (chosen IS NOT NULL)),
    CHECK (coalesce(outcome = 'said', 0) = (said IS NOT NULL)),
    CHECK (coalesce(outcome <> 'nobody', 0) = (answered_by IS NOT NULL))
) STRICT;
-- The messages that show a question: their buttons go with its answer.
CREATE TABLE question_notices (
    question INTEGER NOT NULL REFERENCES questions_anew (id) ON DELETE CASCADE,
    outbox   INTEGER NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    PRIMARY KEY (question, outbox)
) STRICT, WITHOUT ROWID;
CREATE INDEX question_of_notice ON question_notices (outbox);
INSERT INTO questions_anew (id, run, step, call_id, tool, kind, options, asker, asked_at, expires_at, outcome, chosen,
                            answered_by, answered_at)
    SELECT id, run, step, call_id, '', 'one', options, asker, asked_at, expires_at,
           CASE WHEN answer IS NULL THEN NULL WHEN answer < 0 THEN 'nobody' ELSE 'chosen' END,
           CASE WHEN answer >= 0 THEN json_array(answer) END,
           CASE WHEN answer >= 0 THEN answered_by END,
           CASE WHEN answer IS NOT NULL THEN asked_at END
    FROM questions;
INSERT INTO question_notices (question, outbox) SELECT id, notice FROM questions WHERE notice IS NOT NULL;
DROP TABLE questions;
ALTER TABLE questions_anew RENAME TO questions;
CREATE INDEX questions_open ON questions (run) WHERE outcome IS NULL;
-- Tools that a person has granted to a team one by one. With row ids, so that a change is noticed.
CREATE TABLE tool_grants (
    team       TEXT    NOT NULL,
    tool       TEXT    NOT NULL CHECK (tool <> ''),
    -- What the agent said it needs it for.
    reason     TEXT    NOT NULL,
    granted_by TEXT    NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (team, tool)
) STRICT;
