"""The process that reads: `python -P -m ingest.reading_process`, started and asked by ingest.reading.

A question is a line of JSON: path and root. The answer is a line too, and after `document` the document as a second.
Imports little: it starts with each ingest.
"""

import faulthandler
import hashlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ingest.readers import read
from kb.errors import DocumentError

MOST_SECONDS = 300
"""For one file. The slowest manual known, 387 pages of tables, takes a quarter of that on two cores."""
MOST_MEMORY_BYTES = 3 << 30
"""Address space of this process."""


def main() -> None:
    """Answer until the other side is gone."""
    _limit_memory()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not stand among the answers
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        for question in sys.stdin.buffer:
            path, root = json.loads(question)
            faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=nowhere)
            _answer(answers, Path(path), Path(root))
            faulthandler.cancel_dump_traceback_later()


def _answer(answers: BinaryIO, path: Path, root: Path) -> None:
    document = b""
    try:
        content = path.read_bytes()
        document = json.dumps(read(path, content, root=root), default=_fields).encode() + b"\n"
        head = ["document", hashlib.sha256(content).hexdigest()]
    except DocumentError as error:
        head = ["error", error.message, error.hint]
    except OSError as error:
        head = ["error", f"{path} cannot be read: {error.strerror}", "check the file and its permissions"]
    except MemoryError:
        head = ["error", f"{path} takes more than {MOST_MEMORY_BYTES:,} bytes of memory to read", "split the file"]
    except Exception as error:  # noqa: BLE001 - a fault of a parser costs this file alone
        head = ["error", f"{path}: {type(error).__name__}: {error}", "please report it with the document"]
    answers.write(json.dumps(head).encode() + b"\n" + document)
    answers.flush()


def _fields(record: object) -> dict[str, object]:
    """Of a dataclass with slots."""
    return {name: getattr(record, name) for name in type(record).__slots__}  # type: ignore[attr-defined]


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = MOST_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(hard, MOST_MEMORY_BYTES)
        with suppress(OSError, ValueError):  # macOS takes no such limit
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    main()
