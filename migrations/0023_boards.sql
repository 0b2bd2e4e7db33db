-- Live messages: what teams do for a topic, in one message of its conversation that is written anew in place.
CREATE TABLE boards (
    -- The message: a row of the outbox, a draft for as long as it is written anew.
    message    INTEGER PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
    topic      INTEGER NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
    -- The first task of the work that it shows. A number and no reference: tasks go with their teams.
    first_task INTEGER NOT NULL,
    begun_at   INTEGER NOT NULL,
    -- Nothing of that work is left: what begins later has a message of its own.
    ended_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX one_open_board_per_topic ON boards (topic) WHERE ended_at IS NULL;
CREATE INDEX boards_of_topic ON boards (topic);
-- What boards show. Messages of topics, which most tasks are, have no place in it.
CREATE INDEX open_work_of_topics ON tasks (topic, id)
    WHERE topic IS NOT NULL AND kind <> 'message' AND state IN ('queued', 'running');
-- What a turn has cost; and turns that go look for it.
CREATE INDEX usage_of_run ON usage (run) WHERE run IS NOT NULL;
