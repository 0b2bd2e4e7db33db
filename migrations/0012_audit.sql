-- Every call of a tool, in a chain: each row's hash covers its words and the hash of the row before it.
CREATE TABLE audit (
    id               INTEGER PRIMARY KEY,
    at               INTEGER NOT NULL,
    team             TEXT    NOT NULL,
    tool             TEXT    NOT NULL,
    -- Who caused the turn, null where no person did.
    sender           TEXT,
    -- The turn, its step and the provider's id of the call.
    run              INTEGER NOT NULL,
    step             INTEGER NOT NULL,
    call_id          TEXT    NOT NULL,
    -- SHA-256 of the arguments, scrubbed and in one canonical form.
    arguments_digest TEXT    NOT NULL,
    decision         TEXT    NOT NULL CHECK (decision IN ('allowed', 'refused')),
    -- Why it was refused, empty where it was not.
    reason           TEXT    NOT NULL,
    outcome          TEXT    NOT NULL CHECK (outcome IN ('done', 'failed', 'not run', 'unknown')),
    duration_ms      INTEGER NOT NULL,
    previous         TEXT    NOT NULL,
    hash             TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_by_age ON audit (at);
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN
    SELECT raise(ABORT, 'an audit row is never changed');
END;
