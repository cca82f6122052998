"""One ingest: compare files with the catalog, read and store what changed, then embed what has no vectors."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from ingest.assignment import Assignment, assign
from ingest.chunk import chunk
from ingest.editions import edition_of
from ingest.extract import extracted
from ingest.extract.subjects import subjects_of
from ingest.facts import facts
from ingest.licences import licence_near
from ingest.moves import moved
from ingest.readers import CODE, UNKNOWN_FORMAT, format_of
from ingest.reading import ReadFile, file_bytes, read_all
from ingest.scan import ScannedFile, file_digest, is_gone, nothing_to_read, scan, source_of, stamp, stamped_includes
from ingest.target_of_path import Layout
from kb.catalog import Catalog
from kb.errors import DocumentError
from kb.siblings import siblings_of
from kb.targets import Targets
from kb.types.documents import FileReport, IngestReport, NewTarget, Progress, SharedFolder
from kb.types.embedding import Embedder
from kb.types.records import DocumentRecord, DocumentState, Trust

BATCH_TEXTS = 256
"""Number of texts that are embedded together and stored in one transaction; a kill loses at most so many vectors."""
READER_VERSION = "13"
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
    exclude: Sequence[str] = ()
    """Patterns of files to skip, in the form of .gitignore."""
    parent: str | None = None
    """Parent of new targets."""
    private: bool | None = None
    """None keeps whether a stored document is private."""
    _reports: list[FileReport] = field(default_factory=list)
    _moved: frozenset[str] = frozenset()
    """Present sources of the documents whose files moved."""
    _new_targets: tuple[NewTarget, ...] = ()
    _shared: tuple[SharedFolder, ...] = ()
    _unread: int = 0
    _embedded: int = 0
    _seconds: dict[str, float] = field(default_factory=lambda: {"reading": 0.0, "embedding": 0.0})

    def read(self, paths: Iterable[Path], *, target: str | None = None) -> None:
        """Update the catalog to match all files in `paths`, which are files, folders and archives.

        A path that is gone is forgotten with the documents from it. An unknown `target` is added.

        Words find each document from the moment when it was read.

        Raises:
            SourceError, TargetError: a path cannot be used, there is nothing to read, or no folder names a target;
                nothing was changed.
        """
        with self._timed("reading"):
            self._read(paths, target)

    def embed(self) -> None:
        """Give vectors to all passages of the catalog that have none yet, whichever ingest read them, in that order.

        Raises:
            LocalModelError: the model cannot be used. What was embedded before is stored.
        """
        if self.embedder is None:
            return
        model, total = self.embedder.fingerprint, self.unembedded
        characters, embedded = self.catalog.unembedded_characters(model), 0
        with self._timed("embedding"):
            try:
                while texts := self.catalog.unembedded_texts(model, limit=BATCH_TEXTS):
                    if not embedded:
                        self.progress(Progress(phase="embedding", done=0, total=total, share=0))
                    vectors = self.embedder.embed_documents(list(texts.values()))
                    self.catalog.put_vectors(dict(zip(texts, vectors, strict=True)), model=model)
                    embedded += sum(map(len, texts.values()))
                    done, share = total - self.unembedded, embedded / characters
                    self.progress(Progress(phase="embedding", done=done, total=total, share=share))
            finally:
                self._embedded = total - self.unembedded

    @property
    def unembedded(self) -> int:
        """Number of passages in the catalog that have no vector yet."""
        return len(self.catalog.unembedded_chunks(self.embedder.fingerprint)) if self.embedder else 0

    def report(self, *, interrupted: bool = False) -> IngestReport:
        """What was done so far, and what is left."""
        return IngestReport(
            files=tuple(sorted(self._reports, key=lambda report: report.path)),
            new_targets=self._new_targets,
            shared=self._shared,
            reading_seconds=self._seconds["reading"],
            embedding_seconds=self._seconds["embedding"],
            embedded=self._embedded,
            unread=self._unread,
            unembedded=self.unembedded,
            interrupted=interrupted,
            dry_run=self.dry_run,
        )

    def _read(self, paths: Iterable[Path], target: str | None) -> None:
        paths = [Path(os.path.realpath(p.expanduser())) for p in paths]
        stored = self.catalog.states()
        present = [path for path in paths if not (is_gone(path) and _below([path], stored))]
        home = self.catalog.home
        found = [
            scan(path, hidden=self.hidden, unknown=self.unknown, exclude=self.exclude, home=home) for path in present
        ]
        candidates = list({c.place: c for files in found for c in files}.values())
        stored = self._follow(candidates, stored)
        gone = self._gone(paths, candidates, stored)
        if all(c.skip for c in candidates) and not gone:
            raise nothing_to_read(paths, candidates)
        readable = [c for c in candidates if not c.skip and not c.fault]
        layout = Layout(self.targets, readable, parent=self.parent)
        assigned = assign(readable, stored, layout, target=target, trust=self.trust, private=self.private)
        self.targets = layout.targets
        if layout.new and not self.dry_run:
            self.targets.save()
        self._new_targets, self._shared = tuple(layout.new), tuple(layout.shared.values())
        went = {state.source for state in gone}
        came = {os.fspath(a.file.path) for a in assigned.values() if a.before is None}
        documents = (stored.keys() - went) | {os.fspath(a.file.path) for a in assigned.values()}
        self._store(candidates, assigned, documents, came | went)
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

    def _follow(self, candidates: Sequence[ScannedFile], stored: dict[str, DocumentState]) -> dict[str, DocumentState]:
        """Return the stored documents by their present sources, and record the sources that are new."""
        sources = moved(candidates, stored, self.catalog.home)
        if sources and not self.dry_run:
            self.catalog.moved(sources)
        self._moved = frozenset(sources.values())
        states = (replace(state, source=sources.get(source, source)) for source, state in stored.items())
        return {state.source: state for state in states}

    def _store(
        self,
        candidates: Sequence[ScannedFile],
        assigned: dict[str, Assignment],
        documents: Set[str],
        came_or_went: Set[str],
    ) -> None:
        """Read what is new or changed; store each document as soon as it is read.

        Args:
            documents: Files that are documents after this ingest, and `came_or_went` those that it adds or removes.
        """
        wanted = list(self._wanted(candidates, assigned, came_or_went))
        lengths = [file_bytes(a.file.path) for a in wanted]
        self._unread, whole, read = len(wanted), sum(lengths) or 1, 0
        self.progress(Progress(phase="reading", done=0, total=len(wanted), share=0))
        reading = read_all(((a.file.path, a.file.root) for a in wanted), documents=documents)
        with nullcontext() if self.dry_run else self.catalog.bulk(), closing(reading) as files:
            for assignment, length, file in zip(wanted, lengths, files, strict=True):
                report = self._stored(assignment, file)
                self._reports.append(report)
                self._unread -= 1
                read += length
                done = len(wanted) - self._unread
                self.progress(Progress(phase="reading", done=done, total=len(wanted), share=read / whole, file=report))

    def _stored(self, assignment: Assignment, file: ReadFile | DocumentError) -> FileReport:
        report = FileReport(path=assignment.path, target=assignment.target, outcome="failed")
        if isinstance(file, DocumentError):
            return report.model_copy(update={"reason": assignment.file.named(str(file))})
        document, before = self._document(assignment, file), assignment.before
        if not self.dry_run:
            self.catalog.put(document, model=self.embedder.fingerprint if self.embedder else None)
        same = before is not None and before.sha256 == file.sha256 and before.source in self._moved
        found = {
            "outcome": "new" if before is None else "moved" if same else "changed",
            "chunks": len(document.chunks),
            "facts": len(document.facts),
            "warnings": document.warnings,
            "format": document.format,
        }
        return report.model_copy(update=found)

    def _wanted(
        self, candidates: Sequence[ScannedFile], assigned: dict[str, Assignment], came_or_went: Set[str]
    ) -> Iterator[Assignment]:
        """Yield the files to read; report the others. A document that includes one that came or went is read again."""
        for file in candidates:
            if reason := file.skip or file.fault:
                outcome = "skipped" if file.skip else "failed"
                self._reports.append(FileReport(path=file.shown, target="", outcome=outcome, reason=reason))
            elif self._is_current(assignment := assigned[file.source], came_or_went):
                outcome = "moved" if file.source in self._moved else "unchanged"
                self._reports.append(FileReport(path=assignment.path, target=assignment.target, outcome=outcome))
            else:
                yield assignment

    def _is_current(self, assignment: Assignment, came_or_went: Set[str]) -> bool:
        """Whether the stored document still matches the file; if only the stamp is new, record it."""
        file, before = assignment.file, assignment.before
        wanted = (self.pipeline, assignment.target, assignment.path, assignment.trust, assignment.private)
        if before is None or (before.pipeline, before.target, before.path, before.trust, before.private) != wanted:
            return False
        includes = stamped_includes(before.stamp)
        if not came_or_went.isdisjoint(includes):
            return False
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
        kind = format_of(candidate.path) or UNKNOWN_FORMAT
        version = edition_of(parsed, title, candidate.path, candidate.root)
        licence = parsed.metadata.get("licence") or licence_near(candidate.path, candidate.root)
        chunks = chunk(parsed, title=title, tokenizer=self.embedder)
        states_facts = trust is not Trust.UNTRUSTED and kind != CODE
        siblings, subjects = siblings_of(self.targets, target), subjects_of(self.targets, target)
        found, refused = facts(parsed, title=title, siblings=siblings) if states_facts else ([], [])
        if states_facts and not found:
            found = list(extracted(parsed, title=title, subjects=subjects))
        return DocumentRecord(
            source=candidate.source,
            origin=assignment.origin,
            path=assignment.path,
            target=target,
            title=title,
            format=kind,
            version=version,
            licence=licence,
            trust=trust,
            private=assignment.private,
            sha256=file.sha256,
            stamp=file.stamp,
            pipeline=self.pipeline,
            text=parsed.text,
            lines=parsed.lines,
            warnings=(*parsed.warnings, *refused),
            sections=parsed.sections,
            chunks=chunks,
            facts=tuple(found),
        )

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
            self._reports.append(FileReport(path=state.path, target=state.target, outcome="removed"))
        if not self.dry_run and any(r.outcome in ("changed", "removed") for r in self._reports):
            self.catalog.drop_unused_vectors()


def _below(paths: Sequence[Path], stored: dict[str, DocumentState]) -> list[DocumentState]:
    """Return the stored documents that are these files, or lie in these folders and archives."""
    prefixes = tuple(f"{source_of(path)}/" for path in paths)
    return [state for state in stored.values() if f"{state.source}/".startswith(prefixes)]
