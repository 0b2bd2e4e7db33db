-- What a turn means to do, and how far it is: its list, in its order.
CREATE TABLE todos (
    run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position BETWEEN 1 AND 30),
    id       TEXT    NOT NULL CHECK (id <> ''),
    subject  TEXT    NOT NULL CHECK (subject <> ''),
    status   TEXT    NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed')),
    PRIMARY KEY (run, position),
    UNIQUE (run, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_todo_in_progress ON todos (run) WHERE status = 'in_progress';
-- The skills that a turn has activated: what else it may use depends on them.
CREATE TABLE active_skills (
    run          INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    skill        TEXT    NOT NULL CHECK (skill <> ''),
    activated_at INTEGER NOT NULL,
    PRIMARY KEY (run, skill)
) STRICT, WITHOUT ROWID;
