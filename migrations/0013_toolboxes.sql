-- Named allow-lists of tools. The built-in ones are written anew at every start and changed by nobody.
CREATE TABLE toolboxes (
    name       TEXT    PRIMARY KEY NOT NULL CHECK (name <> ''),
    about      TEXT    NOT NULL,
    -- A JSON array of names and patterns.
    tools      TEXT    NOT NULL,
    builtin    INTEGER NOT NULL CHECK (builtin IN (0, 1)),
    changed_at INTEGER NOT NULL
) STRICT;
