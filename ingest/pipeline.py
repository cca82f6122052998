"""One ingest: compare files with the catalog, read what changed, embed it, store one document at a time."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.assignment import Assignment, assign
from ingest.chunk import chunk
from ingest.extract import extracted
from ingest.extract.subjects import subjects_of
from ingest.facts import facts
from ingest.layout import Layout
from ingest.licences import licence_near
from ingest.moves import moved
from ingest.readers import UNKNOWN_FORMAT, format_of
from ingest.reading import ReadFile, read_all
from ingest.scan import ScannedFile, file_digest, is_gone, nothing_to_read, scan, source_of, stamp, stamped_includes
from kb.catalog import Catalog, DocumentRecord, DocumentState
from kb.errors import DocumentError
from kb.model.documents import FileReport, IngestReport
from kb.model.protocols import Embedder
from kb.model.records import Trust
from kb.targets import Targets

READER_VERSION = "8"
"""Raise this when readers, chunking or fact extraction change their output: then every file is read again."""

BATCH_WINDOWS = 512
"""Number of texts embedded together, across documents, so that short documents share a batch."""

Progress = Callable[[FileReport, int, int], None]
"""Called with each final report (after the file is stored, if it is stored), the number done and the total."""


@dataclass(slots=True)
class Ingest:
    """The work of one `kb ingest`. The caller holds the write lock, except in a dry run."""

    catalog: Catalog
    targets: Targets
    embedder: Embedder | None
    trust: Trust | None = None
    """None keeps the trust of a stored document, and is `vendor` for a new one."""
    hidden: bool = False
    unknown: bool = False
    """Also read files of unknown formats, as plain text."""
    dry_run: bool = False
    progress: Progress = lambda report, done, total: None
    exclude: Sequence[str] = ()
    """Patterns of files to skip, in the form of .gitignore."""
    parent: str | None = None
    """Parent of new targets."""
    _reports: list[FileReport] = field(default_factory=list)
    _moved: frozenset[str] = frozenset()
    """Present sources of the documents whose files moved."""
    _total: int = 0

    def run(self, paths: Iterable[Path], *, target: str | None = None) -> IngestReport:
        """Update the catalog to match all files in `paths`, which are files, folders and archives.

        A path that is gone is forgotten with the documents from it. An unknown `target` is added.

        Raises:
            SourceError, TargetError: a path cannot be used, there is nothing to read, or no folder names a target;
                nothing was changed.
        """
        began = time.monotonic()
        paths = [Path(os.path.realpath(p.expanduser())) for p in paths]
        stored = self.catalog.states()
        found = (c for path in paths if not (is_gone(path) and _below([path], stored)) for c in self._scan(path))
        candidates = list({c.place: c for c in found}.values())
        stored = self._follow(candidates, stored)
        gone = self._gone(paths, candidates, stored)
        if all(c.skip for c in candidates) and not gone:
            raise nothing_to_read(paths, candidates)
        readable = [c for c in candidates if not c.skip and not c.fault]
        layout = Layout(self.targets, readable, parent=self.parent)
        assigned = assign(readable, stored, layout, target=target, trust=self.trust)
        self.targets = layout.targets
        if layout.new and not self.dry_run:
            self.targets.save()
        self._total = len(candidates) + len(gone)
        self._store(self._changed(candidates, assigned))
        self._remove(gone)
        return IngestReport(
            files=tuple(sorted(self._reports, key=lambda report: report.path)),
            new_targets=tuple(layout.new),
            shared=tuple(layout.shared.values()),
            seconds=time.monotonic() - began,
            dry_run=self.dry_run,
        )

    @property
    def pipeline(self) -> str:
        return f"{READER_VERSION}/{self.embedder.fingerprint if self.embedder else 'lexical'}"

    def _scan(self, path: Path) -> list[ScannedFile]:
        return scan(path, hidden=self.hidden, unknown=self.unknown, exclude=self.exclude)

    def _follow(self, candidates: Sequence[ScannedFile], stored: dict[str, DocumentState]) -> dict[str, DocumentState]:
        """Return the stored documents by their present sources, and record the sources that are new."""
        sources = moved(candidates, stored)
        if sources and not self.dry_run:
            self.catalog.moved(sources)
        self._moved = frozenset(sources.values())
        states = (replace(state, source=sources.get(source, source)) for source, state in stored.items())
        return {state.source: state for state in states}

    def _changed(
        self, candidates: Sequence[ScannedFile], assigned: dict[str, Assignment]
    ) -> Iterator[tuple[DocumentRecord, FileReport]]:
        """Yield the documents to store; report the other files."""
        wanted = list(self._wanted(candidates, assigned))
        with closing(read_all((a.file.path, a.file.root) for a in wanted)) as files:
            for assignment, file in zip(wanted, files, strict=True):
                before = assignment.before
                report = FileReport(path=assignment.path, target=assignment.target, outcome="failed")
                if isinstance(file, DocumentError):
                    self._report(report.model_copy(update={"reason": str(file)}))
                    continue
                document = self._document(assignment, file)
                same = before is not None and before.sha256 == file.sha256 and before.source in self._moved
                found = {
                    "outcome": "new" if before is None else "moved" if same else "changed",
                    "chunks": len(document.chunks),
                    "facts": len(document.facts),
                    "warnings": document.warnings,
                }
                yield document, report.model_copy(update=found)

    def _wanted(self, candidates: Sequence[ScannedFile], assigned: dict[str, Assignment]) -> Iterator[Assignment]:
        """Yield the files to read; report the others."""
        for file in candidates:
            if file.skip:
                self._report(FileReport(path=file.shown, target="", outcome="skipped", reason=file.skip))
            elif file.fault:
                self._report(FileReport(path=file.shown, target="", outcome="failed", reason=file.fault))
            elif self._is_current(assignment := assigned[file.source]):
                outcome = "moved" if file.source in self._moved else "unchanged"
                self._report(FileReport(path=assignment.path, target=assignment.target, outcome=outcome))
            else:
                yield assignment

    def _is_current(self, assignment: Assignment) -> bool:
        """Whether the stored document still matches the file; if only the stamp is new, record it."""
        file, before = assignment.file, assignment.before
        wanted = (self.pipeline, assignment.target, assignment.path, assignment.trust)
        if before is None or (before.pipeline, before.target, before.path, before.trust) != wanted:
            return False
        includes = stamped_includes(before.stamp)
        try:
            mark = stamp(file.path, includes)
            if mark == before.stamp:
                return True
            if includes or file_digest(file.path) != before.sha256:
                return False
        except OSError:
            return False  # reading the file reports the error
        if not self.dry_run:
            self.catalog.touched(file.source, stamp=mark)
        return True

    def _document(self, assignment: Assignment, file: ReadFile) -> DocumentRecord:
        candidate, target, trust, parsed = assignment.file, assignment.target, assignment.trust, file.document
        title = parsed.metadata.get("title") or (parsed.sections[0].title if parsed.sections else candidate.path.stem)
        found, refused = facts(parsed, target=target) if trust is not Trust.UNTRUSTED else ([], [])
        if trust is not Trust.UNTRUSTED and not found:
            found = list(extracted(parsed, title=title, subjects=subjects_of(self.targets, target)))
        return DocumentRecord(
            source=candidate.source,
            origin=assignment.origin,
            path=assignment.path,
            target=target,
            title=title,
            format=format_of(candidate.path) or UNKNOWN_FORMAT,
            version=parsed.metadata.get("version", ""),
            licence=parsed.metadata.get("licence") or licence_near(candidate.path, candidate.root),
            trust=trust,
            sha256=file.sha256,
            stamp=file.stamp,
            pipeline=self.pipeline,
            text=parsed.text,
            lines=parsed.lines,
            warnings=(*parsed.warnings, *refused),
            sections=parsed.sections,
            chunks=chunk(parsed, title=title, tokenizer=self.embedder),
            facts=tuple(found),
        )

    def _store(self, changed: Iterable[tuple[DocumentRecord, FileReport]]) -> None:
        """Embed in batches across documents; store each document in its own transaction."""
        pending: list[tuple[DocumentRecord, FileReport]] = []
        windows = 0
        for document, report in changed:
            pending.append((document, report))
            windows += sum(len(c.windows) for c in document.chunks)
            if windows >= BATCH_WINDOWS or self.embedder is None:
                self._flush(pending)
                pending, windows = [], 0
        self._flush(pending)

    def _flush(self, pending: Sequence[tuple[DocumentRecord, FileReport]]) -> None:
        model = self.embedder.fingerprint if self.embedder else ""
        vectors = {} if self.dry_run else self._embed({k: v for d, _ in pending for k, v in d.window_digests().items()})
        for document, report in pending:
            if not self.dry_run:
                own = {digest: vectors[digest] for digest in document.window_digests() if digest in vectors}
                self.catalog.put(document, own, model=model)
            self._report(report)

    def _embed(self, texts: dict[str, str]) -> dict[str, NDArray[np.float32]]:
        """Return vectors for the texts that have none yet."""
        if self.embedder is None or not texts:
            return {}
        missing = sorted(self.catalog.missing_vectors(self.embedder.fingerprint, texts))
        if not missing:
            return {}
        return dict(zip(missing, self.embedder.embed_documents([texts[d] for d in missing]), strict=True))

    def _gone(
        self, paths: Sequence[Path], candidates: Sequence[ScannedFile], stored: dict[str, DocumentState]
    ) -> list[DocumentState]:
        """Return stored documents below the ingested paths whose file no longer exists or is no longer read."""
        present = {c.source for c in candidates if not c.skip}
        faulty = [c.place for c in candidates if c.fault]
        kept = {state.source for state in _below(faulty, stored)}
        return [s for s in _below(paths, stored) if s.source not in present | kept]

    def _remove(self, gone: Sequence[DocumentState]) -> None:
        if gone and not self.dry_run:
            self.catalog.remove(s.source for s in gone)
        for state in gone:
            self._report(FileReport(path=state.path, target=state.target, outcome="removed"))
        if not self.dry_run and any(r.outcome in ("changed", "removed") for r in self._reports):
            self.catalog.drop_unused_vectors()

    def _report(self, report: FileReport) -> None:
        self._reports.append(report)
        self.progress(report, len(self._reports), self._total)


def _below(paths: Sequence[Path], stored: dict[str, DocumentState]) -> list[DocumentState]:
    """Return the stored documents that are these files, or lie in these folders and archives."""
    prefixes = tuple(f"{source_of(path)}/" for path in paths)
    return [state for state in stored.values() if f"{state.source}/".startswith(prefixes)]
