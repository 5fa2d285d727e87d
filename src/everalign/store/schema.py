"""The tables of the catalogue.

Rows are only ever added. The one exception is a delta, whose version is filled in when it has
been applied. Triggers hold whoever opens the database by hand to the same promise.
"""

from __future__ import annotations

APPLICATION_ID = 0x4576416C
FORMAT = 3

_NAMES = """
CREATE TABLE name (
    side TEXT NOT NULL CHECK (side IN ('left', 'right')),
    sort TEXT NOT NULL CHECK (sort IN ('entity', 'relation', 'attribute', 'literal')),
    id INTEGER NOT NULL,
    text TEXT NOT NULL,
    delta INTEGER NOT NULL REFERENCES delta(number),
    PRIMARY KEY (side, sort, id)
) WITHOUT ROWID
"""

_TABLES = """
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE version (
    number INTEGER PRIMARY KEY,
    made_at TEXT NOT NULL,
    info TEXT NOT NULL,        -- JSON
    files TEXT NOT NULL,       -- JSON: array name -> SHA-256, in versions/<number>
    view_files TEXT            -- the same, in views/<number>; NULL if there is none
);

CREATE TABLE delta (
    number INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    counts TEXT NOT NULL,      -- JSON
    files TEXT NOT NULL,       -- JSON: array name -> SHA-256, in deltas/<number>
    version INTEGER UNIQUE REFERENCES version(number),  -- NULL while it is pending
    is_full INTEGER NOT NULL DEFAULT 0,                 -- 1: everything is looked at again
    asks_method INTEGER NOT NULL DEFAULT 1              -- 0: people alone have spoken
);
CREATE UNIQUE INDEX at_most_one_pending ON delta (version IS NULL) WHERE version IS NULL;

CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    version INTEGER NOT NULL REFERENCES version(number),
    kind TEXT NOT NULL,
    -- Without a look at the type, a number of another library would come in as its bytes.
    left_id INTEGER NOT NULL CHECK (typeof(left_id) = 'integer'),
    right_id INTEGER NOT NULL CHECK (typeof(right_id) = 'integer'),
    score REAL NOT NULL CHECK (typeof(score) = 'real'),
    reason TEXT NOT NULL,
    other_left INTEGER,
    other_right INTEGER
);
CREATE INDEX event_of_version ON event (version);
CREATE INDEX event_of_left ON event (left_id);
CREATE INDEX event_of_right ON event (right_id);
"""

_PROMISE = """
CREATE TRIGGER {table}_{action} BEFORE {action} ON {table} {condition}
BEGIN SELECT RAISE(ABORT, 'rows of {table} are kept as they are'); END;
"""

_KEPT = [
    *((table, "DELETE", "") for table in ("version", "delta", "name", "event")),
    *((table, "UPDATE", "") for table in ("version", "name", "event")),
    ("delta", "UPDATE", "WHEN old.version IS NOT NULL"),
]


def _promises(*tables: str) -> list[str]:
    return [
        _PROMISE.format(table=table, action=action, condition=condition)
        for table, action, condition in _KEPT
        if table in tables
    ]


SCHEMA = "\n".join(
    [
        _TABLES,
        f"{_NAMES};",
        *_promises("version", "delta", "name", "event"),
        f"PRAGMA application_id = {APPLICATION_ID};",
        f"PRAGMA user_version = {FORMAT};",
    ]
)

# What leads from a format to the next one, for states that an earlier release has made.
MIGRATIONS: dict[int, list[str]] = {
    1: ["ALTER TABLE delta ADD COLUMN is_full INTEGER NOT NULL DEFAULT 0"],
    2: [
        "ALTER TABLE delta ADD COLUMN asks_method INTEGER NOT NULL DEFAULT 1",
        # SQLite cannot change what a column may hold: the names move to a table that can.
        "ALTER TABLE name RENAME TO old_name",
        _NAMES,
        "INSERT INTO name SELECT * FROM old_name",
        "DROP TABLE old_name",
        *_promises("name"),
    ],
}
