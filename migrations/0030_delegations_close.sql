-- Whatever was handed to another session comes back, or is said to have been cut off, in the transaction that ends the
-- call that handed it over: a crash, a stop, a time-out further up and a panic all end there. Before the call's own
-- result, as an answer would be. What was closed already stays as it is.
CREATE INDEX delegations_opened ON events (run) WHERE kind = 'delegation_opened';
CREATE INDEX delegations_closed ON events (run) WHERE kind = 'delegation_closed';
CREATE TRIGGER delegations_are_over BEFORE UPDATE OF state ON tool_calls
WHEN old.state = 'started' AND new.state <> 'started'
 AND new.tool IN ('delegate_parallel', 'delegate_to', 'query_team', 'query_teams', 'run_subagent', 'scout') BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    SELECT new.finished_at, o.team, o.run, o.task, 'delegation_closed',
           json_set(o.body, '$.ok', json('false'), '$.how', 'cut off', '$.ms', max(new.finished_at - o.at, 0))
    FROM events o
    WHERE o.run = new.run AND o.kind = 'delegation_opened'
      AND json_extract(o.body, '$.step') = new.step AND json_extract(o.body, '$.call_id') = new.call_id
      AND NOT EXISTS (SELECT 1 FROM events c
                      WHERE c.run = o.run AND c.kind = 'delegation_closed' AND c.id > o.id
                        AND json_extract(c.body, '$.step') = new.step
                        AND json_extract(c.body, '$.call_id') = new.call_id
                        AND json_extract(c.body, '$.at') = json_extract(o.body, '$.at'))
    ORDER BY o.id;
END;

-- Which of the things that its parent asked a turn within another one answers: `{"step", "call_id", "at"}`, as the
-- events of the delegation name it.
ALTER TABLE runs ADD COLUMN delegation TEXT CHECK (delegation IS NULL OR json_valid(delegation));
DROP TRIGGER turn_has_started;
CREATE TRIGGER turn_has_started AFTER INSERT ON runs BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.started_at, new.team, new.id, new.task, 'turn_started',
            json_object('topic', new.topic, 'parent', new.parent, 'delegation', json(new.delegation)));
END;

-- A message that answers none. What a turn that is part of a topic's talk says once it is over is its reply; all else
-- that a turn says is a notice of its team's: a question, a file, how far it is, what came of a task.
DROP TRIGGER notice_is_given;
CREATE TRIGGER notice_is_given AFTER INSERT ON outbox
WHEN new.state = 'due' AND new.target IS NULL AND new.reply_to IS NULL AND new.handle IS NULL
 AND NOT EXISTS (SELECT 1 FROM runs WHERE id = new.run AND topic IS NOT NULL AND state <> 'running') BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.created_at, coalesce((SELECT team FROM runs WHERE id = new.run), 'main'), new.run,
            (SELECT task FROM runs WHERE id = new.run), 'notice',
            json_object('outbox', new.id, 'conversation', new.conversation, 'topic', new.topic));
END;
