"""The process that reads files for ingest.reading, which starts it with the arguments of `main`.

Each line of input and output is JSON. The input names all `documents`, or a `path` to read and its `root`. The answer
to the latter is one line; after `document`, a second line holds the document. This module imports little because it is
started for each ingest.
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


def main(seconds: float, memory_bytes: int, size_bytes: int) -> None:
    """Answer requests until the input ends, or a file takes more than `seconds`; for the limits see `ReaderLimits`."""
    limit_memory(memory_bytes)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        documents: frozenset[str] = frozenset()
        for line in sys.stdin.buffer:
            question = json.loads(line)
            if "documents" in question:
                documents = frozenset(question["documents"])
                continue
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            _answer(answers, Path(question["path"]), Path(question["root"]), documents, size_bytes)
            faulthandler.cancel_dump_traceback_later()


def _answer(answers: BinaryIO, path: Path, root: Path, documents: frozenset[str], most_bytes: int) -> None:
    document = b""
    try:
        if (size := path.stat().st_size) > most_bytes:
            raise DocumentError(f"{path} has {size:,} bytes; kb reads at most {most_bytes:,}", hint="split the file")
        content = path.read_bytes()
        document = json.dumps(read(path, content, root=root, documents=documents), default=_fields).encode() + b"\n"
        head = ["document", hashlib.sha256(content).hexdigest()]
    except DocumentError as error:
        head = ["error", error.message, error.hint]
    except OSError as error:
        head = ["error", f"{path} cannot be read: {error.strerror}", "check the file and its permissions"]
    except MemoryError:
        head = ["error", f"{path} needs more memory to read than kb allows for one file", "split the file"]
    except Exception as error:  # noqa: BLE001 - a fault in a parser must fail only this file
        head = ["error", f"{path}: {type(error).__name__}: {error}", "please report it with the document"]
    answers.write(json.dumps(head).encode() + b"\n" + document)
    answers.flush()


def _fields(record: object) -> dict[str, object]:
    """Return the fields of a dataclass with slots."""
    return {name: getattr(record, name) for name in type(record).__slots__}  # type: ignore[attr-defined]


def limit_memory(most_bytes: int) -> None:
    """Limit this process's address space where the system can."""
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = most_bytes if hard == resource.RLIM_INFINITY else min(hard, most_bytes)
        with suppress(OSError, ValueError):  # macOS refuses this limit
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:]))
