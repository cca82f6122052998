"""One ingest: compare files with the catalog, read and store what changed, then embed what has no vectors."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ingest.chunk import chunk
from ingest.embedding import embed_missing
from ingest.extract import extracted
from ingest.extract.subjects import subjects_of
from ingest.facts import facts
from ingest.licences import licence_near
from ingest.readers import UNKNOWN_FORMAT, format_of
from ingest.reading import ReadFile, file_bytes, read_all
from ingest.scan import ScannedFile, file_digest, nothing_to_read, scan, source_of, stamp, stamped_includes
from kb.catalog import Catalog, DocumentRecord, DocumentState
from kb.errors import DocumentError
from kb.model.documents import FileReport, IngestReport, Progress
from kb.model.protocols import Embedder
from kb.model.records import Trust
from kb.targets import Targets

READER_VERSION = "8"
"""Raise this when readers, chunking or fact extraction change their output: then every file is read again."""


@dataclass(slots=True)
class Ingest:
    """The work of one `kb ingest`: `read`, then `embed`. The caller holds the write lock, except in a dry run."""

    catalog: Catalog
    targets: Targets
    embedder: Embedder | None
    trust: Trust | None = None
    """None keeps the trust of a stored document, and is `vendor` for a new one."""
    hidden: bool = False
    unknown: bool = False
    """Also read files of unknown formats, as plain text."""
    dry_run: bool = False
    progress: Callable[[Progress], None] = lambda progress: None
    """Called when a phase begins, after each file that was read and stored, and after each stored batch of vectors."""
    _reports: list[FileReport] = field(default_factory=list)
    _new_targets: list[str] = field(default_factory=list)
    _unread: int = 0
    _embedded: int = 0
    _seconds: dict[str, float] = field(default_factory=lambda: {"reading": 0.0, "embedding": 0.0})

    def read(self, paths: Iterable[Path], *, target: str | None = None) -> None:
        """Update the catalog to match all files in `paths`, which are files and folders.

        Words find each document from the moment when it was read.

        Raises:
            SourceError: a path cannot be used, or there is nothing to read; nothing was changed.
        """
        with self._timed("reading"):
            self._read(paths, target)

    def embed(self) -> None:
        """Give vectors to all passages of the catalog that have none yet. Errors as in `embed_missing`."""
        if self.embedder is not None:
            before = self.unembedded
            with self._timed("embedding"):
                try:
                    embed_missing(self.catalog, self.embedder, self.progress)
                finally:
                    self._embedded = before - self.unembedded

    @property
    def unembedded(self) -> int:
        """Number of passages in the catalog that have no vector yet."""
        return len(self.catalog.unembedded_chunks(self.embedder.fingerprint)) if self.embedder else 0

    def report(self, *, interrupted: bool = False) -> IngestReport:
        """What was done so far, and what is left."""
        return IngestReport(
            files=tuple(sorted(self._reports, key=lambda report: report.path)),
            new_targets=tuple(self._new_targets),
            notes=(),
            reading_seconds=self._seconds["reading"],
            embedding_seconds=self._seconds["embedding"],
            embedded=self._embedded,
            unread=self._unread,
            unembedded=self.unembedded,
            interrupted=interrupted,
            dry_run=self.dry_run,
        )

    def _read(self, paths: Iterable[Path], target: str | None) -> None:
        named = self.targets.get(target).name if target else None
        paths = [Path(os.path.realpath(p.expanduser())) for p in paths]
        found = (c for path in paths for c in scan(path, hidden=self.hidden, unknown=self.unknown))
        candidates = list({c.path: c for c in found}.values())
        stored = self.catalog.states()
        gone = self._gone(paths, candidates, stored)
        if all(c.skip for c in candidates) and not gone:
            raise nothing_to_read(paths, candidates)
        self._store(candidates, stored, named)
        self._remove(gone)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds[phase] += time.monotonic() - began

    @property
    def pipeline(self) -> str:
        return f"{READER_VERSION}/{self.embedder.fingerprint if self.embedder else 'lexical'}"

    def _store(self, candidates: Sequence[ScannedFile], stored: dict[str, DocumentState], named: str | None) -> None:
        """Read what is new or changed; store each document as soon as it is read."""
        wanted = list(self._wanted(candidates, stored, named))
        lengths = [file_bytes(candidate.path) for candidate, _, _ in wanted]
        self._unread, whole, read = len(wanted), sum(lengths) or 1, 0
        self.progress(Progress(phase="reading", done=0, total=len(wanted), share=0))
        with closing(read_all((c.path, c.root) for c, _, _ in wanted)) as files:
            for (candidate, target, trust), length, file in zip(wanted, lengths, files, strict=True):
                outcome = "changed" if candidate.source in stored else "new"
                report = self._stored(candidate, target, trust, file, outcome)
                self._report(report)
                self._unread -= 1
                read += length
                done = len(wanted) - self._unread
                self.progress(Progress(phase="reading", done=done, total=len(wanted), share=read / whole, file=report))

    def _stored(
        self, candidate: ScannedFile, target: str, trust: Trust, file: ReadFile | DocumentError, outcome: str
    ) -> FileReport:
        """Store what was read from a file."""
        if isinstance(file, DocumentError):
            return FileReport(path=candidate.shown, target=target, outcome="failed", reason=str(file))
        document = self._document(candidate, target, trust, file)
        if not self.dry_run:
            self.catalog.put(document, model=self.embedder.fingerprint if self.embedder else None)
        return FileReport(
            path=candidate.shown,
            target=target,
            outcome=outcome,
            chunks=len(document.chunks),
            facts=len(document.facts),
            warnings=document.warnings,
        )

    def _wanted(
        self, candidates: Sequence[ScannedFile], stored: dict[str, DocumentState], named: str | None
    ) -> Iterator[tuple[ScannedFile, str, Trust]]:
        """Yield each file to read, with its target and trust."""
        for candidate in candidates:
            before = stored.get(candidate.source)
            if candidate.skip:
                self._report(FileReport(path=candidate.shown, target="", outcome="skipped", reason=candidate.skip))
                continue
            target = named or self._target_of(candidate, before)
            trust = self.trust or (Trust(before.trust) if before else Trust.VENDOR)
            if before is not None and before.trust == trust and self._is_current(candidate, before, target):
                self._report(FileReport(path=candidate.shown, target=target, outcome="unchanged"))
            else:
                yield candidate, target, trust

    def _is_current(self, candidate: ScannedFile, before: DocumentState, target: str) -> bool:
        """Whether the stored document still matches the file; if only the stamp is new, record it."""
        if (before.pipeline, before.target) != (self.pipeline, target):
            return False
        includes = stamped_includes(before.stamp)
        try:
            mark = stamp(candidate.path, includes)
            if mark == before.stamp:
                return True
            if includes or file_digest(candidate.path) != before.sha256:
                return False
        except OSError:
            return False  # reading the file reports the error
        if not self.dry_run:
            self.catalog.moved(candidate.source, stamp=mark)
        return True

    def _document(self, candidate: ScannedFile, target: str, trust: Trust, file: ReadFile) -> DocumentRecord:
        parsed = file.document
        title = parsed.metadata.get("title") or (parsed.sections[0].title if parsed.sections else candidate.path.stem)
        found, refused = facts(parsed, target=target) if trust is not Trust.UNTRUSTED else ([], [])
        if trust is not Trust.UNTRUSTED and not found:
            found = list(extracted(parsed, title=title, subjects=subjects_of(self.targets, target)))
        return DocumentRecord(
            source=candidate.source,
            path=candidate.shown,
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

    def _gone(
        self, paths: Sequence[Path], candidates: Sequence[ScannedFile], stored: dict[str, DocumentState]
    ) -> list[DocumentState]:
        """Return stored documents below the ingested folders whose file no longer exists or is no longer read."""
        present = {c.source for c in candidates if not c.skip}
        prefixes = tuple(f"{source_of(p)}/" for p in paths if p.is_dir())
        return [s for s in stored.values() if s.source.startswith(prefixes) and s.source not in present]

    def _remove(self, gone: Sequence[DocumentState]) -> None:
        if gone and not self.dry_run:
            self.catalog.remove(s.source for s in gone)
        for state in gone:
            self._report(FileReport(path=state.path, target=state.target, outcome="removed"))
        if not self.dry_run and any(r.outcome in ("changed", "removed") for r in self._reports):
            self.catalog.drop_unused_vectors()

    def _target_of(self, candidate: ScannedFile, before: DocumentState | None) -> str:
        """Return the target that the folders name, else the stored one, else one named like the ingested folder."""
        if found := self.targets.of_path(candidate.folders):
            return found
        if before:
            return before.target
        name = candidate.root.name
        if known := self.targets.find(name):
            return known.name
        self.targets = self.targets.with_new(name)
        added = self.targets.get(name).name
        if not self.dry_run:
            self.targets.save(added)
        self._new_targets.append(added)
        return added

    def _report(self, report: FileReport) -> None:
        self._reports.append(report)
