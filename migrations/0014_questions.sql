-- Questions to people in the middle of a turn, with buttons. A turn that is entered again finds its question here.
CREATE TABLE questions (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step        INTEGER NOT NULL,
    call_id     TEXT    NOT NULL,
    -- A JSON array of what the buttons say.
    options     TEXT    NOT NULL,
    -- Who may answer besides admins; null where only an admin may.
    asker       TEXT,
    -- The message with the buttons.
    notice      INTEGER REFERENCES outbox (id) ON DELETE SET NULL,
    asked_at    INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    -- The number of the option; -1 where nobody answered in time.
    answer      INTEGER,
    answered_by TEXT,
    UNIQUE (run, step, call_id),
    CHECK ((answer IS NULL) = (answered_by IS NULL))
) STRICT;
CREATE INDEX questions_of_notice ON questions (notice) WHERE notice IS NOT NULL;
