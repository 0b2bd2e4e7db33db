-- no-transaction
-- Work of teams: what they are told, what came of it, who waits for it. A table's constraints cannot be changed in
-- place, so both tables are made anew; SQLite wants foreign keys off for that, which no transaction can do.
PRAGMA foreign_keys = OFF;
BEGIN IMMEDIATE;
CREATE TABLE tasks_anew (
    id           INTEGER PRIMARY KEY,
    team         TEXT    NOT NULL REFERENCES teams (name) ON DELETE CASCADE,
    lane         TEXT    NOT NULL,
    -- message: a topic's mailbox has something; result: what a child team made of a task, for the team that gave it;
    -- every other kind is work with a text of its own.
    kind         TEXT    NOT NULL CHECK (kind IN ('message', 'delegate', 'bootstrap', 'trigger', 'handoff',
                                                  'escalation', 'result')),
    -- 0 critical, 1 high, 2 normal, 3 low
    priority     INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
    state        TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    body         TEXT    NOT NULL DEFAULT '',
    -- The origin: what caused this work, null where no conversation did.
    conversation TEXT,
    topic        INTEGER REFERENCES topics (id),
    sender       TEXT,
    -- Who gave it: a team, and the turn in which it did. Null where the hive itself did.
    giver        TEXT,
    cause        INTEGER REFERENCES runs (id) ON DELETE SET NULL,
    -- The turn whose talk this one goes on with.
    continues    INTEGER REFERENCES runs (id) ON DELETE SET NULL,
    correlation  TEXT,
    -- JSON: what else its turn is told (subagent, max_steps).
    options      TEXT    NOT NULL DEFAULT '{}',
    created_at   INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    started_at   INTEGER,
    finished_at  INTEGER,
    leased_until INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    -- Turns that failed by a fault that may pass.
    failures     INTEGER NOT NULL DEFAULT 0,
    -- Somebody wants the running turn to end: a person, a newer message, a task that replaces it, or its team goes.
    stop_asked   TEXT             CHECK (stop_asked IN ('person', 'message', 'replaced', 'closing')),
    note         TEXT    NOT NULL DEFAULT '',
    -- What it came to, without secrets.
    result       TEXT    NOT NULL DEFAULT '',
    CHECK ((state = 'running') = (leased_until IS NOT NULL)),
    CHECK ((state IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL))
) STRICT;
INSERT INTO tasks_anew (id, team, lane, kind, priority, state, body, conversation, topic, sender, created_at, due_at,
                        started_at, finished_at, leased_until, attempts, stop_asked, note)
SELECT id, team, lane, kind, priority, state, body, conversation, topic, sender, created_at, due_at,
       started_at, finished_at, leased_until, attempts, stop_asked, note FROM tasks;
DROP TABLE tasks;
ALTER TABLE tasks_anew RENAME TO tasks;
CREATE UNIQUE INDEX one_running_task_per_lane ON tasks (lane) WHERE state = 'running';
-- Messages wait in the mailbox; one queued task is enough to have a lane look into it.
CREATE UNIQUE INDEX one_queued_message_task_per_lane ON tasks (lane) WHERE state = 'queued' AND kind = 'message';
CREATE INDEX tasks_to_stop ON tasks (id) WHERE state = 'running' AND stop_asked IS NOT NULL;
CREATE INDEX claimable_tasks ON tasks (priority, id) WHERE state = 'queued';
CREATE INDEX open_tasks_of_team ON tasks (team, priority, id) WHERE state IN ('queued', 'running');
CREATE INDEX finished_tasks ON tasks (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX finished_tasks_of_team ON tasks (team, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX tasks_of_topic ON tasks (topic) WHERE topic IS NOT NULL;
CREATE INDEX tasks_by_cause ON tasks (cause) WHERE cause IS NOT NULL;
CREATE INDEX tasks_that_continue ON tasks (continues) WHERE continues IS NOT NULL;
CREATE INDEX tasks_by_correlation ON tasks (team, correlation) WHERE correlation IS NOT NULL;

CREATE TABLE runs_anew (
    id          INTEGER PRIMARY KEY,
    -- Null for a turn in the middle of another one's: a team that is asked and answers at once.
    task        INTEGER UNIQUE REFERENCES tasks (id) ON DELETE CASCADE,
    parent      INTEGER REFERENCES runs (id) ON DELETE CASCADE,
    team        TEXT    NOT NULL,
    topic       INTEGER REFERENCES topics (id),
    sender      TEXT,
    state       TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed', 'stopped')),
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    steps       INTEGER NOT NULL DEFAULT 0,
    note        TEXT    NOT NULL DEFAULT '',
    CHECK ((state = 'running') = (finished_at IS NULL)),
    CHECK ((task IS NULL) <> (parent IS NULL))
) STRICT;
INSERT INTO runs_anew (id, task, team, topic, sender, state, started_at, finished_at, steps, note)
SELECT id, task, team, topic, sender, state, started_at, finished_at, steps, note FROM runs;
DROP TABLE runs;
ALTER TABLE runs_anew RENAME TO runs;
CREATE INDEX runs_of_topic ON runs (topic, id);
CREATE INDEX runs_in_runs ON runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX unfinished_runs ON runs (id) WHERE state = 'running';
CREATE INDEX finished_runs ON runs (finished_at) WHERE finished_at IS NOT NULL;

-- What teams say to one another, and to a topic of the main agent: read in the reader's next turn.
CREATE TABLE notes (
    id     INTEGER PRIMARY KEY,
    reader TEXT    NOT NULL REFERENCES teams (name) ON DELETE CASCADE,
    -- Null where the reader has no topics.
    topic  INTEGER REFERENCES topics (id) ON DELETE CASCADE,
    writer TEXT    NOT NULL,
    text   TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    -- The turn that read it.
    run    INTEGER REFERENCES runs (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX unread_notes ON notes (reader, topic, id) WHERE run IS NULL;
CREATE INDEX notes_of_topic ON notes (topic) WHERE topic IS NOT NULL;
CREATE INDEX notes_of_run ON notes (run) WHERE run IS NOT NULL;
COMMIT;
PRAGMA foreign_keys = ON;
