-- Who may speak. A null channel_id holds in every conversation of the channel type.
CREATE TABLE sender_trust (
    id           INTEGER PRIMARY KEY,
    channel_type TEXT    NOT NULL CHECK (channel_type IN ('discord', 'telegram', 'console', 'web')),
    channel_id   TEXT,
    sender_id    TEXT    NOT NULL CHECK (sender_id <> ''),
    trust_level  TEXT    NOT NULL CHECK (trust_level IN ('trusted', 'denied')),
    admin        INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1)),
    granted_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    CHECK (admin = 0 OR (trust_level = 'trusted' AND channel_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX one_trust_row ON sender_trust (channel_type, sender_id, coalesce(channel_id, ''));
-- Every decision about a message, and every change of trust (those have an actor).
CREATE TABLE trust_audit_log (
    id           INTEGER PRIMARY KEY,
    channel_type TEXT    NOT NULL,
    channel_id   TEXT    NOT NULL,
    sender_id    TEXT    NOT NULL,
    decision     TEXT    NOT NULL CHECK (decision IN ('allowed', 'denied', 'held', 'trusted', 'revoked')),
    reason       TEXT    NOT NULL,
    actor        TEXT,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX trust_audit_by_age ON trust_audit_log (created_at);
CREATE INDEX trust_audit_changes ON trust_audit_log (id) WHERE actor IS NOT NULL;
-- Who asked to speak and is not known: told once, shown to the admins once.
CREATE TABLE strangers (
    id           INTEGER PRIMARY KEY,
    sender       TEXT    NOT NULL UNIQUE,
    name         TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    first_at     INTEGER NOT NULL,
    settled_at   INTEGER,
    settled_by   TEXT
) STRICT;
-- The notices about a stranger: their buttons are taken away once one admin has decided.
CREATE TABLE stranger_notices (
    stranger INTEGER NOT NULL REFERENCES strangers (id) ON DELETE CASCADE,
    outbox   INTEGER NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    PRIMARY KEY (stranger, outbox)
) STRICT, WITHOUT ROWID;
-- Where a trusted person can be reached alone.
CREATE TABLE direct_conversations (
    sender       TEXT    PRIMARY KEY NOT NULL,
    conversation TEXT    NOT NULL,
    at           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- One-time codes that make their sender an admin. Only a digest of the code is kept.
CREATE TABLE pairings (
    digest     TEXT    PRIMARY KEY NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    used_by    TEXT
) STRICT, WITHOUT ROWID;
-- Wrong codes: who tries too often is not listened to for a while.
CREATE TABLE pairing_tries (
    sender TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT;
CREATE INDEX pairing_tries_of_sender ON pairing_tries (sender, at);
