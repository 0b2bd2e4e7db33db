-- What children hand up is counted by the minute: only the last of it is looked at, however much there was.
CREATE INDEX handoffs ON tasks (team, giver, created_at) WHERE kind = 'handoff';
-- The newer task that this one was asked to end for. A number and no reference: tasks go with their teams.
ALTER TABLE tasks ADD COLUMN replaced_by INTEGER;
