-- What goes with a team is found by its name: the database looks for it itself when a team's row goes, and without these
-- reads every task and every note of the hive for that. Whoever looks for the work of a team that is not over says which
-- index is meant: this one has what is over as well.
DROP INDEX tasks_by_correlation;
CREATE INDEX tasks_of_team ON tasks (team, correlation);
CREATE INDEX notes_of_reader ON notes (reader);
-- Turns in the middle of others go with nobody's task.
CREATE INDEX asked_turns_of_team ON runs (team) WHERE task IS NULL;
-- Events stay when a team goes, and name it. A new team of the same name begins after the last of them.
ALTER TABLE teams ADD COLUMN events_after INTEGER NOT NULL DEFAULT 0;
