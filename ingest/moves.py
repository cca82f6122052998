"""Recognise documents whose files moved, so that they keep their ids and the verdicts on their facts."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from os.path import commonprefix
from pathlib import Path

from ingest.scan import SHEET, ScannedFile, file_digest, file_of, is_gone
from kb.types.records import DocumentState


def moved(files: Sequence[ScannedFile], stored: Mapping[str, DocumentState], home: Path) -> dict[str, str]:
    """The new sources of stored documents whose files are gone, by their old sources.

    A new file is such a document if it has the same content, or else if the document's path fits its place. Of several
    documents with this content, the one with the most similar place is taken.
    """
    new = [f for f in files if not f.skip and not f.fault and f.source not in stored]
    if not new:
        return {}
    own = [state for state in stored.values() if not state.source.startswith(SHEET)]
    gone = {state.source: state for state in own if is_gone(file_of(state.source, home))}
    found: dict[str, str] = {}
    taken: set[str] = set()
    for source, earlier in chain(_same_content(new, gone).items(), _same_place(new, gone).items()):
        free = [e for e in earlier if e not in found]
        if free and source not in taken:
            found[max(free, key=lambda e: len(commonprefix((e[::-1], source[::-1]))))] = source  # noqa: RUF071 - compares characters
            taken.add(source)
    return found


def _same_content(new: Sequence[ScannedFile], gone: Mapping[str, DocumentState]) -> dict[str, list[str]]:
    """Old sources with the content of each new file; a file is opened only if its size is one of theirs."""
    by_digest: dict[str, list[str]] = defaultdict(list)
    for state in gone.values():
        by_digest[state.sha256].append(state.source)
    sizes = {seen[1] for s in gone.values() if len(seen := json.loads(s.stamp)[0]) > 1}
    found = {}
    for file in new:
        with suppress(OSError):  # reading the file reports the error
            if file.path.stat().st_size in sizes and (earlier := by_digest.get(file_digest(file.path))):
                found[file.source] = earlier
    return found


def _same_place(new: Sequence[ScannedFile], gone: Mapping[str, DocumentState]) -> dict[str, list[str]]:
    """Old sources whose document's path is the end of the place of each new file."""
    by_path = {state.path: state.source for state in gone.values()}
    ends = {f.source: [f.source[at + 1 :] for at, sign in enumerate(f.source) if sign == "/"] for f in new}
    return {source: [by_path[end] for end in own if end in by_path] for source, own in ends.items()}
