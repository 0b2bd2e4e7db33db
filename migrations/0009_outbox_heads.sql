-- The scan for what is due reads this index alone.
DROP INDEX outbox_open;
CREATE INDEX outbox_open ON outbox (conversation, id, due_at) WHERE state IN ('due', 'sending');
