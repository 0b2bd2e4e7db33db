-- A long queue must not be walked through to find work, nor to find out when there will be some.
-- Which lanes have queued tasks, and each lane's first.
CREATE INDEX queued_lanes ON tasks (lane, priority, id) WHERE state = 'queued';
-- What was put back, to be claimed again at some moment: all else is due from the moment on in which it was made.
CREATE INDEX put_back_tasks ON tasks (due_at) WHERE state = 'queued' AND due_at > created_at;
