-- Facts of this database as a whole: which hive it is, when it was made.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT;
