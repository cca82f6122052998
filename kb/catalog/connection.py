"""Open the SQLite file: schema, durability, and kb's errors for those of the system and of SQLite."""

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.errors import CorruptError, DiskFullError, LockedError, ReadOnlyError, SchemaError, StoreError

SCHEMA_VERSION = 6
BUSY_TIMEOUT_MS = 5000
MIN_FREE_BYTES = 65_536
"""With less free space SQLite cannot write its log and reports an I/O error."""

SCHEMA = """
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL UNIQUE,      -- absolute path, or sheet:/<path> for what ships with kb
    origin TEXT NOT NULL,             -- ids are made of it: its first path, kept when the file moves
    path TEXT NOT NULL,               -- as citations show it
    target TEXT NOT NULL,
    title TEXT NOT NULL,
    format TEXT NOT NULL,
    version TEXT NOT NULL,
    licence TEXT NOT NULL,
    trust TEXT NOT NULL,              -- measured, vendor, community or untrusted
    private INTEGER NOT NULL DEFAULT 0,  -- whether it must not leave the user's machines
    sha256 TEXT NOT NULL,
    stamp TEXT NOT NULL,              -- JSON: path, size and mtime of the file and of each file it includes
    pipeline TEXT NOT NULL,           -- reader, chunker and embedding model that made these rows
    text TEXT NOT NULL,               -- normalised; all spans below are character offsets into it
    lines BLOB NOT NULL,              -- for each line of text, its line in the file
    warnings TEXT NOT NULL            -- JSON list
);
CREATE INDEX document_target ON document(target);
CREATE INDEX document_private ON document(id) WHERE private;

CREATE TABLE section (
    document_id INTEGER NOT NULL REFERENCES document(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    parent INTEGER,                   -- ordinal of the enclosing section
    level INTEGER NOT NULL,
    title TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    PRIMARY KEY (document_id, ordinal)
) WITHOUT ROWID;

CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,                -- the id in a citation
    document_id INTEGER NOT NULL REFERENCES document(id) ON DELETE CASCADE,
    section INTEGER,                  -- ordinal; NULL before the first heading
    ordinal INTEGER NOT NULL,
    kind TEXT NOT NULL,
    lead TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    line_start INTEGER NOT NULL,      -- in the file
    line_end INTEGER NOT NULL,
    digest TEXT NOT NULL              -- of lead and span: a citation is checked against it
);
CREATE INDEX chunk_key ON chunk(key);
CREATE UNIQUE INDEX chunk_place ON chunk(document_id, ordinal);

CREATE TABLE table_row (              -- indexed by itself, raises its chunk's score, cited cell by cell
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    chunk_id INTEGER NOT NULL REFERENCES chunk(id) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    cells TEXT NOT NULL,              -- JSON: [header, start, end] of each cell that is not empty, from the row's start
    digest TEXT NOT NULL
);
CREATE INDEX table_row_key ON table_row(key);
CREATE INDEX table_row_chunk ON table_row(chunk_id);

CREATE TABLE embedded (               -- a chunk longer than the model accepts is embedded in several windows
    chunk_id INTEGER NOT NULL REFERENCES chunk(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    text_digest TEXT NOT NULL,
    PRIMARY KEY (chunk_id, ordinal)
) WITHOUT ROWID;
CREATE INDEX embedded_text ON embedded(text_digest);

CREATE TABLE vector (                 -- keyed by text: a rebuilt index or a moved file needs no new embedding
    model TEXT NOT NULL,
    text_digest TEXT NOT NULL,
    value BLOB NOT NULL,              -- float16, little-endian, length 1
    PRIMARY KEY (model, text_digest)
) WITHOUT ROWID;

CREATE TABLE unembedded (             -- texts whose vector is not stored yet
    id INTEGER PRIMARY KEY,           -- in the order in which documents were read
    model TEXT NOT NULL,
    text_digest TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (model, text_digest)
);

CREATE TABLE fact (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES document(id) ON DELETE CASCADE,
    section INTEGER,
    target TEXT NOT NULL,
    quantity TEXT NOT NULL,
    value TEXT NOT NULL,
    number REAL,
    unit TEXT NOT NULL,
    condition TEXT NOT NULL,
    source TEXT NOT NULL,
    form TEXT NOT NULL,               -- stated, table or proposed
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    digest TEXT NOT NULL
);
CREATE TABLE fact_verdict (            -- what a person decided; kept when the document is read again
    key TEXT PRIMARY KEY,
    verdict TEXT NOT NULL,            -- accepted or rejected
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    condition TEXT NOT NULL           -- added to the fact's own, to tell it from another value
) WITHOUT ROWID;
CREATE INDEX fact_key ON fact(key);
CREATE INDEX fact_target ON fact(target, quantity);

CREATE VIRTUAL TABLE lexical USING fts5
    (title, heading, body, path, identifiers, target, tokenize = 'porter unicode61');
CREATE TRIGGER chunk_gone AFTER DELETE ON chunk BEGIN DELETE FROM lexical WHERE rowid = old.id; END;
CREATE VIRTUAL TABLE lexical_row USING fts5 (heading, body, identifiers, target, tokenize = 'porter unicode61');
CREATE TRIGGER row_gone AFTER DELETE ON table_row BEGIN DELETE FROM lexical_row WHERE rowid = old.id; END;
"""


def connect(home: Path) -> sqlite3.Connection:
    """Open the catalog of `home`, or create it; open it read-only if it cannot be written.

    Raises:
        StoreError: the home cannot be created, or the file is damaged or has another schema version.
    """
    path = home / "catalog.sqlite"
    with storage_errors(home):
        try:
            home.mkdir(parents=True, exist_ok=True)
            connection = _open(f"{path.as_uri()}?mode=rwc")
            _create_if_new(connection)
            _add_private(connection)
        except (OSError, sqlite3.OperationalError) as error:
            if not (path.is_file() and _is_read_only(error)):
                raise
            connection = _open_read_only(path)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        connection.close()
        raise SchemaError(
            f"{path} has schema version {version}; this version of kb reads {SCHEMA_VERSION}",
            hint="use the version of kb that wrote it, or move the file away and ingest again",
        )
    return connection


def _open(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Without write access SQLite cannot use a WAL's shared memory; a file without a pending log does not need it."""
    try:
        return _open(f"{path.as_uri()}?mode=ro")
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        return _open(f"{path.as_uri()}?immutable=1")


def _create_if_new(connection: sqlite3.Connection) -> None:
    if (
        connection.execute("PRAGMA user_version").fetchone()[0]
        or connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    ):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")


def _add_private(connection: sqlite3.Connection) -> None:
    """Bring a catalog of version 5, which knows no private documents, to the present version."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == 5:
        added = "ALTER TABLE document ADD COLUMN private INTEGER NOT NULL DEFAULT 0"
        index = "CREATE INDEX document_private ON document(id) WHERE private"
        connection.executescript(f"BEGIN IMMEDIATE; {added}; {index}; PRAGMA user_version = 6; COMMIT;")


def _is_read_only(error: OSError | sqlite3.OperationalError) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
    return any(words in str(error) for words in ("readonly", "unable to open"))


@contextmanager
def storage_errors(home: Path) -> Iterator[None]:
    """Turn errors of the system or of SQLite about `home` into kb's StoreErrors."""
    try:
        yield
    except (OSError, sqlite3.DatabaseError) as error:
        raise _store_error(error, home) from error


def _store_error(error: OSError | sqlite3.DatabaseError, home: Path) -> StoreError:
    full = DiskFullError(f"no space left for {home}", hint="free space or set KB_HOME to another disk")
    owned = "set KB_HOME to a folder you own"
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return full
        if _is_read_only(error):
            return ReadOnlyError(f"{home} cannot be written: {error.strerror}", hint=owned)
        return StoreError(f"{home}: {error}", hint="check the folder, or set KB_HOME to another")
    text = str(error)
    if "full" in text or ("disk I/O" in text and shutil.disk_usage(home).free < MIN_FREE_BYTES):
        return full
    if "locked" in text or "busy" in text:
        return LockedError(f"the catalog in {home} is busy: {text}", hint="wait for the other process and try again")
    if isinstance(error, sqlite3.OperationalError) and _is_read_only(error):
        return ReadOnlyError(f"{home} cannot be written: {text}", hint=owned)
    if "malformed" in text or "not a database" in text:
        return CorruptError(f"the catalog in {home} is damaged: {text}", hint="`kb doctor --repair`")
    return StoreError(f"the catalog in {home}: {text}", hint="`kb doctor` checks it")
