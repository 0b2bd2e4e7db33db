-- What teams remember. An entry is never changed: saving its key again makes a row that supersedes it.
CREATE TABLE memories (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    team             TEXT    NOT NULL,
    key              TEXT    NOT NULL CHECK (key <> ''),
    content          TEXT    NOT NULL CHECK (content <> ''),
    type             TEXT    NOT NULL
                     CHECK (type IN ('identity', 'lesson', 'decision', 'context', 'reference', 'historical')),
    -- Not active and not deleted is superseded.
    is_active        INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    deleted_at       INTEGER,
    -- A chain is a line that leads back in time, within one key of one team.
    supersedes_id    INTEGER CHECK (supersedes_id < id),
    supersede_reason TEXT,
    updated_by       TEXT,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    CHECK (is_active = 0 OR deleted_at IS NULL),
    UNIQUE (team, key, id),
    FOREIGN KEY (team, key, supersedes_id) REFERENCES memories (team, key, id)
) STRICT;
CREATE UNIQUE INDEX one_active_memory ON memories (team, key) WHERE is_active = 1;
CREATE UNIQUE INDEX one_successor ON memories (supersedes_id) WHERE supersedes_id IS NOT NULL;
CREATE INDEX memories_of_team ON memories (team, type, updated_at) WHERE is_active = 1;
-- The pieces of entries that are searched. Deleted entries have none.
CREATE TABLE memory_chunks (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    memory      INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    team        TEXT    NOT NULL,
    chunk_index INTEGER NOT NULL,
    -- The words of the key.
    title       TEXT    NOT NULL,
    content     TEXT    NOT NULL,
    -- The content as it is indexed, where its script does not set words apart.
    spaced      TEXT,
    -- Words of title and content, as the index counts them.
    words       INTEGER NOT NULL CHECK (words >= 0),
    -- 32-bit floats, little endian, and the name of the model that made them.
    model       TEXT    NOT NULL DEFAULT '',
    vector      BLOB,
    -- Grows over all chunks whenever one is added or gets another vector: what a cache has not seen is above it.
    stamp       INTEGER NOT NULL UNIQUE,
    UNIQUE (memory, chunk_index),
    -- A NUL in a text damages the index.
    CHECK (instr(title || content || coalesce(spaced, ''), char(0)) = 0)
) STRICT;
CREATE INDEX memory_chunks_of_team ON memory_chunks (team, stamp);
CREATE INDEX memory_chunks_of_model ON memory_chunks (model);
CREATE TABLE memory_stamp (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    stamp INTEGER NOT NULL
) STRICT;
INSERT INTO memory_stamp (only, stamp) VALUES (1, 0);
-- The statistics of each team's chunks, so that no team's words weigh on another's.
CREATE TABLE memory_teams (
    team   TEXT    PRIMARY KEY NOT NULL,
    chunks INTEGER NOT NULL,
    words  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- The index, and its words. Kept by the triggers below and by nothing else.
CREATE VIEW memory_texts AS SELECT id, title, coalesce(spaced, content) AS content FROM memory_chunks;
CREATE VIRTUAL TABLE memory_fts USING fts5 (
    title, content, content = 'memory_texts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE memory_fts_words USING fts5vocab ('memory_fts', 'row');
CREATE VIRTUAL TABLE memory_fts_places USING fts5vocab ('memory_fts', 'instance');
CREATE TRIGGER memory_chunk_added AFTER INSERT ON memory_chunks BEGIN
    INSERT INTO memory_fts (rowid, title, content) VALUES (new.id, new.title, coalesce(new.spaced, new.content));
    INSERT INTO memory_teams (team, chunks, words) VALUES (new.team, 1, new.words)
        ON CONFLICT (team) DO UPDATE SET chunks = chunks + 1, words = words + excluded.words;
END;
CREATE TRIGGER memory_chunk_removed AFTER DELETE ON memory_chunks BEGIN
    INSERT INTO memory_fts (memory_fts, rowid, title, content)
        VALUES ('delete', old.id, old.title, coalesce(old.spaced, old.content));
    UPDATE memory_teams SET chunks = chunks - 1, words = words - old.words WHERE team = old.team;
END;
-- A chunk's text and team stay as they are: an entry with other words is another entry.
CREATE TRIGGER memory_chunk_kept BEFORE UPDATE OF id, team, title, content, spaced, words ON memory_chunks BEGIN
    SELECT raise(ABORT, 'the text of a memory chunk does not change');
END;
