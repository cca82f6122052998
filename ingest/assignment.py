"""What each file of an ingest is to the catalog: its target, its path in citations, and the stored document."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ingest.scan import SHEET, ScannedFile
from ingest.target_of_path import Layout
from kb.types.records import DocumentState, Trust


@dataclass(frozen=True, slots=True)
class Assignment:
    file: ScannedFile
    target: str
    path: str
    """As citations show it; no other document has it."""
    origin: str
    """See `DocumentRecord.origin`."""
    trust: Trust
    private: bool
    before: DocumentState | None
    """The stored document of the file."""


def assign(
    files: Sequence[ScannedFile],
    stored: Mapping[str, DocumentState],
    layout: Layout,
    *,
    target: str | None,
    trust: Trust | None,
    private: bool | None,
) -> dict[str, Assignment]:
    """Return the assignments of files, by source. A stored document keeps its path while its place and target fit.

    Args:
        stored: The stored documents, by source.
        target: Target of all files (default: the folders tell it).
        trust: Trust of all files (default: unchanged, `vendor` for new ones).
        private: Whether all files are private (default: unchanged; a new one if another below its folder is).

    Raises:
        TargetError: as `Layout.named` and `Layout.target_of`.
    """
    named = layout.named(target) if target else None
    sources = {state.path: state.source for state in stored.values()}
    origins = {state.origin for state in stored.values()}
    with_private = {f"{os.path.dirname(state.source)}/" for state in stored.values() if state.private}  # noqa: PTH120
    assigned = {}
    for file in files:
        before = stored.get(file.source)
        own = named or layout.target_of(file, before=before.target if before else None)
        if before and before.target == own and file.source.endswith(f"/{before.path}"):
            path = before.path
        else:
            path = _free_path(layout.shown(file, own), file, sources)
            sources[path] = file.source
        origin = before.origin if before else _free_origin(path, file, origins)
        origins.add(origin)
        kept = trust or (Trust(before.trust) if before else Trust.VENDOR)
        hidden = before.private if before else file.source.startswith(tuple(with_private))
        assigned[file.source] = Assignment(
            file, own, path, origin, kept, hidden if private is None else private, before
        )
    return assigned


def _free_path(path: str, file: ScannedFile, sources: Mapping[str, str]) -> str:
    """Return `path`, with more folders in front if another document has it."""
    while sources.get(path, file.source) != file.source:
        path = "/".join(file.place.parts[-2 - path.count("/") :])
    return path


def _free_origin(path: str, file: ScannedFile, origins: Collection[str]) -> str:
    """Return the origin of a new document; one that moved away may have its path as origin."""
    origin = file.source if file.source.startswith(SHEET) else path
    number = 1
    while origin in origins:
        number += 1
        origin = f"{path} {number}"
    return origin
