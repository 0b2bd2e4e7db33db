-- The one way to do work: a task in a lane. The database itself refuses two running tasks in one lane.
CREATE TABLE tasks (
    id           INTEGER PRIMARY KEY,
    team         TEXT    NOT NULL,
    lane         TEXT    NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind IN ('message', 'delegate', 'bootstrap', 'trigger', 'handoff', 'escalation')),
    -- 0 critical, 1 high, 2 normal, 3 low
    priority     INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
    state        TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    body         TEXT    NOT NULL DEFAULT '',
    -- The origin: what caused this work, null where no conversation did.
    conversation TEXT,
    topic        INTEGER REFERENCES topics (id),
    sender       TEXT,
    created_at   INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    started_at   INTEGER,
    finished_at  INTEGER,
    leased_until INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    -- Somebody wants the running turn to end: a person ('person'), or a newer message ('message').
    stop_asked   TEXT             CHECK (stop_asked IN ('person', 'message')),
    note         TEXT    NOT NULL DEFAULT '',
    CHECK ((state = 'running') = (leased_until IS NOT NULL)),
    CHECK ((state IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX one_running_task_per_lane ON tasks (lane) WHERE state = 'running';
-- Messages wait in the mailbox; one queued task is enough to have a lane look into it.
CREATE UNIQUE INDEX one_queued_message_task_per_lane ON tasks (lane) WHERE state = 'queued' AND kind = 'message';
CREATE INDEX tasks_to_stop ON tasks (id) WHERE state = 'running' AND stop_asked IS NOT NULL;
CREATE INDEX claimable_tasks ON tasks (priority, id) WHERE state = 'queued';
CREATE INDEX finished_tasks ON tasks (finished_at) WHERE finished_at IS NOT NULL;
