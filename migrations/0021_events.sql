-- What happens, in the order in which it does. A subscriber holds nothing but the id of the last row that it has seen.
--
-- Facts that are rows already become events by the triggers below, in the very statement that makes them: no path of
-- the code can forget one, none costs a transaction, and what is rolled back has not happened. Whoever makes one of
-- those tables anew drops the triggers first, and makes them again. What has no row of its own the code appends.
--
-- Bodies say what happened, and not what was said: that stands in the journal, and these rows are copied to a file
-- that every conversation of a team can read.
CREATE TABLE events (
    -- Never given twice: the newest row is never deleted.
    id   INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    team TEXT    NOT NULL,
    -- The turn and the task that it belongs to. They may be gone before it.
    run  INTEGER,
    task INTEGER,
    kind TEXT    NOT NULL CHECK (kind <> ''),
    -- A JSON object.
    body TEXT    NOT NULL
) STRICT;
CREATE INDEX events_of_team ON events (team);
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events BEGIN
    SELECT raise(ABORT, 'an event is never changed');
END;
-- How far each subscriber of the hive's own has come: what it has not seen is not deleted.
CREATE TABLE event_cursors (
    subscriber TEXT    PRIMARY KEY NOT NULL,
    seen       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO event_cursors (subscriber, seen) VALUES ('files', 0);

CREATE TRIGGER turn_has_started AFTER INSERT ON runs BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.started_at, new.team, new.id, new.task, 'turn_started',
            json_object('topic', new.topic, 'parent', new.parent));
END;
CREATE TRIGGER turn_has_finished AFTER UPDATE OF state ON runs WHEN old.state = 'running' AND new.state <> 'running'
BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.finished_at, new.team, new.id, new.task, 'turn_finished',
            json_object('state', new.state, 'steps', new.steps, 'ms', new.finished_at - new.started_at,
                        'note', substr(new.note, 1, 200)));
END;
CREATE TRIGGER step_is_done AFTER INSERT ON journal WHEN new.role = 'assistant' BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    SELECT new.at, team, id, task, 'step', json_object('step', new.step, 'bytes', octet_length(new.content))
    FROM runs WHERE id = new.run;
END;
CREATE TRIGGER tool_is_called AFTER INSERT ON tool_calls BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    SELECT new.started_at, team, id, task, 'tool_called',
           json_object('step', new.step, 'call_id', new.call_id, 'tool', new.tool)
    FROM runs WHERE id = new.run;
END;
CREATE TRIGGER tool_has_a_result AFTER UPDATE OF state ON tool_calls
WHEN old.state = 'started' AND new.state <> 'started' BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    SELECT new.finished_at, team, id, task, 'tool_result',
           json_object('step', new.step, 'call_id', new.call_id, 'tool', new.tool, 'state', new.state,
                       'is_error', json(iif(new.is_error, 'true', 'false')), 'bytes', octet_length(new.result),
                       'ms', new.finished_at - new.started_at)
    FROM runs WHERE id = new.run;
END;
CREATE TRIGGER skill_is_activated AFTER INSERT ON active_skills BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    SELECT new.activated_at, team, id, task, 'skill_activated', json_object('skill', new.skill)
    FROM runs WHERE id = new.run;
END;
CREATE TRIGGER task_is_queued AFTER INSERT ON tasks BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.created_at, new.team, NULL, new.id, 'task_queued',
            json_object('kind', new.kind, 'priority', new.priority, 'giver', new.giver, 'topic', new.topic));
END;
-- A task that is claimed once more says when it was claimed first, and from when on it could be claimed again.
CREATE TRIGGER task_has_started AFTER UPDATE OF state ON tasks WHEN old.state = 'queued' AND new.state = 'running'
BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (max(new.started_at, new.due_at), new.team, NULL, new.id, 'task_started',
            json_object('kind', new.kind, 'attempt', new.attempts));
END;
CREATE TRIGGER task_is_put_back AFTER UPDATE OF state ON tasks WHEN old.state = 'running' AND new.state = 'queued'
BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.due_at, new.team, NULL, new.id, 'task_put_back',
            json_object('kind', new.kind, 'attempt', new.attempts, 'due_at', new.due_at));
END;
CREATE TRIGGER task_has_finished AFTER UPDATE OF state ON tasks
WHEN old.finished_at IS NULL AND new.finished_at IS NOT NULL BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.finished_at, new.team, NULL, new.id, 'task_finished',
            json_object('kind', new.kind, 'state', new.state, 'note', substr(new.note, 1, 200)));
END;
-- A message that answers none: a reply is the end of its turn. The root team talks to people.
CREATE TRIGGER notice_is_given AFTER INSERT ON outbox
WHEN new.state = 'due' AND new.target IS NULL AND new.reply_to IS NULL AND new.handle IS NULL AND new.run IS NULL BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.created_at, 'main', NULL, NULL, 'notice',
            json_object('outbox', new.id, 'conversation', new.conversation, 'topic', new.topic));
END;
CREATE TRIGGER cost_is_known AFTER INSERT ON usage BEGIN
    INSERT INTO events (at, team, run, task, kind, body)
    VALUES (new.at, new.team, new.run, (SELECT task FROM runs WHERE id = new.run), 'cost',
            json_object('purpose', new.purpose, 'model', new.model, 'input_tokens', new.input_tokens,
                        'output_tokens', new.output_tokens, 'cache_read_tokens', new.cache_read_tokens,
                        'cache_write_tokens', new.cache_write_tokens, 'cost_micro_usd', new.cost_micro_usd));
END;
