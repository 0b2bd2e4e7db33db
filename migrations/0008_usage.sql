-- What each model call used and cost. A null cost is an unknown price, not a free call.
CREATE TABLE usage (
    id                 INTEGER PRIMARY KEY,
    run                INTEGER REFERENCES runs (id) ON DELETE SET NULL,
    team               TEXT    NOT NULL,
    topic              INTEGER REFERENCES topics (id) ON DELETE SET NULL,
    sender             TEXT,
    purpose            TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost_micro_usd     INTEGER,
    day                INTEGER NOT NULL,
    at                 INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_of_day ON usage (day, topic);
CREATE INDEX usage_of_topic ON usage (topic);
