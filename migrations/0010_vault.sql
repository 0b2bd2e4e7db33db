-- What teams keep: their own values, and secrets that only the system writes. Every value is encrypted, with its team,
-- key, version and kind bound to it. A row that is changed gets the next version, so that two changes are never one.
CREATE TABLE team_vault (
    team       TEXT    NOT NULL,
    key        TEXT    NOT NULL CHECK (key <> ''),
    version    INTEGER NOT NULL CHECK (version > 0),
    is_secret  INTEGER NOT NULL CHECK (is_secret IN (0, 1)),
    nonce      BLOB    NOT NULL CHECK (length(nonce) = 24),
    sealed     BLOB    NOT NULL CHECK (length(sealed) >= 16),
    updated_by TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (team, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX vault_secrets ON team_vault (team, key) WHERE is_secret = 1;

CREATE TRIGGER vault_secret_stays_secret BEFORE UPDATE OF is_secret ON team_vault
WHEN old.is_secret = 1 AND new.is_secret = 0
BEGIN
    SELECT raise(ABORT, 'a secret never becomes a plain value');
END;

CREATE TRIGGER vault_versions_have_no_gap BEFORE UPDATE ON team_vault
WHEN new.version <> old.version + 1
BEGIN
    SELECT raise(ABORT, 'a vault row gets exactly the next version');
END;

-- Something known, encrypted with the vault's key: tells another key before anything is read or written with it.
CREATE TABLE vault_check (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    nonce  BLOB NOT NULL CHECK (length(nonce) = 24),
    sealed BLOB NOT NULL CHECK (length(sealed) >= 16)
) STRICT;
