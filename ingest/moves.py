"""Recognise documents whose files moved, so that they keep their ids and the verdicts on their facts."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import takewhile

from ingest.scan import SHEET, ScannedFile, file_digest, file_of
from kb.catalog import DocumentState


def moved(files: Sequence[ScannedFile], stored: Mapping[str, DocumentState]) -> dict[str, str]:
    """The new sources of stored documents whose files are gone, by their old sources.

    A new file is such a document if it has the same content, or else if the document's path fits its place. Of several
    documents with this content, the one with the most similar place is taken.
    """
    new = [f for f in files if not f.skip and not f.fault and f.source not in stored]
    if not new:
        return {}
    gone = {s.source: s for s in stored.values() if not s.source.startswith(SHEET) and not file_of(s.source).is_file()}
    found: dict[str, str] = {}
    for match in (_same_content(new, gone), _same_place(new, gone)):
        for source, earlier in match.items():
            free = [e for e in earlier if e not in found]
            if free and source not in found.values():
                found[max(free, key=lambda e: _common_end(e, source))] = source
    return found


def _same_content(new: Sequence[ScannedFile], gone: Mapping[str, DocumentState]) -> dict[str, list[str]]:
    """Old sources with the content of each new file; a file is opened only if its size is one of theirs."""
    by_digest: dict[str, list[str]] = defaultdict(list)
    for state in gone.values():
        by_digest[state.sha256].append(state.source)
    sizes = {seen[1] for s in gone.values() if len(seen := json.loads(s.stamp)[0]) > 1}
    digests = {f.source: file_digest(f.path) for f in new if f.path.stat().st_size in sizes}
    return {source: by_digest[digest] for source, digest in digests.items() if digest in by_digest}


def _same_place(new: Sequence[ScannedFile], gone: Mapping[str, DocumentState]) -> dict[str, list[str]]:
    by_path = {f"/{state.path}": state.source for state in gone.values()}
    return {f.source: [old for path, old in by_path.items() if f.source.endswith(path)] for f in new if by_path}


def _common_end(one: str, other: str) -> int:
    """Number of characters that are the same at the end of both."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one[::-1], other[::-1], strict=False)))
