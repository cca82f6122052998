"""One ingest: compare files with the catalog, read what changed, embed it, store one document at a time."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.chunk import chunk
from ingest.extract import extracted
from ingest.extract.subjects import subjects_of
from ingest.facts import facts
from ingest.licences import licence_near
from ingest.readers import UNKNOWN_FORMAT, format_of
from ingest.reading import ReadFile, read_all
from ingest.scan import ScannedFile, file_digest, nothing_to_read, scan, source_of, stamp, stamped_includes
from kb.catalog import Catalog, DocumentRecord, DocumentState
from kb.errors import DocumentError
from kb.model.documents import FileReport, IngestReport
from kb.model.embedding import Embedder
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
    _reports: list[FileReport] = field(default_factory=list)
    _new_targets: list[str] = field(default_factory=list)
    _total: int = 0

    def run(self, paths: Iterable[Path], *, target: str | None = None) -> IngestReport:
        """Update the catalog to match all files in `paths`, which are files and folders.

        Raises:
            SourceError: a path cannot be used, or there is nothing to read; nothing was changed.
        """
        began = time.monotonic()
        named = self.targets.get(target).name if target else None
        paths = [Path(os.path.realpath(p.expanduser())) for p in paths]
        found = (c for path in paths for c in scan(path, hidden=self.hidden, unknown=self.unknown))
        candidates = list({c.path: c for c in found}.values())
        stored = self.catalog.states()
        gone = self._gone(paths, candidates, stored)
        if all(c.skip for c in candidates) and not gone:
            raise nothing_to_read(paths, candidates)
        self._total = len(candidates) + len(gone)
        self._store(self._changed(candidates, stored, named))
        self._remove(gone)
        return IngestReport(
            files=tuple(sorted(self._reports, key=lambda report: report.path)),
            new_targets=tuple(self._new_targets),
            notes=(),
            seconds=time.monotonic() - began,
            dry_run=self.dry_run,
        )

    @property
    def pipeline(self) -> str:
        return f"{READER_VERSION}/{self.embedder.fingerprint if self.embedder else 'lexical'}"

    def _changed(
        self, candidates: Sequence[ScannedFile], stored: dict[str, DocumentState], named: str | None
    ) -> Iterator[tuple[DocumentRecord, FileReport]]:
        """Yield the documents to store; report the other files."""
        wanted = list(self._wanted(candidates, stored, named))
        with closing(read_all((c.path, c.root) for c, _, _ in wanted)) as files:
            for (candidate, target, trust), file in zip(wanted, files, strict=True):
                report = FileReport(path=candidate.shown, target=target, outcome="failed")
                if isinstance(file, DocumentError):
                    self._report(report.model_copy(update={"reason": str(file)}))
                    continue
                document = self._document(candidate, target, trust, file)
                found = {
                    "outcome": "changed" if candidate.source in stored else "new",
                    "chunks": len(document.chunks),
                    "facts": len(document.facts),
                    "warnings": document.warnings,
                }
                yield document, report.model_copy(update=found)

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
        self.progress(report, len(self._reports), self._total)
