-- The org tree. What a team may do stands in its config.yaml; what it is and whose it is stands here.
CREATE TABLE teams (
    name        TEXT    PRIMARY KEY NOT NULL,
    -- Null for the root alone.
    parent      TEXT    REFERENCES teams (name),
    depth       INTEGER NOT NULL CHECK (depth >= 0),
    description TEXT    NOT NULL DEFAULT '',
    -- spawning: its folder is being made; bootstrapping: its first task runs; failed: that task failed;
    -- closing: it takes nothing more, and is about to go.
    state       TEXT    NOT NULL CHECK (state IN ('spawning', 'bootstrapping', 'ready', 'failed', 'closing')),
    created_at  INTEGER NOT NULL,
    CHECK ((parent IS NULL) = (name = 'main')),
    CHECK ((parent IS NULL) = (depth = 0))
) STRICT, WITHOUT ROWID;
CREATE INDEX children ON teams (parent, name) WHERE parent IS NOT NULL;
CREATE INDEX unsettled_teams ON teams (state) WHERE state IN ('spawning', 'closing');
INSERT INTO teams (name, parent, depth, state, created_at) VALUES ('main', NULL, 0, 'ready', 0);
-- What a team is for, in words: hints for whoever routes.
CREATE TABLE scope_keywords (
    team    TEXT NOT NULL REFERENCES teams (name) ON DELETE CASCADE,
    keyword TEXT NOT NULL CHECK (keyword <> ''),
    PRIMARY KEY (team, keyword)
) STRICT, WITHOUT ROWID;
