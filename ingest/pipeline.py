"""One ingest: compare files with the catalog, read what changed, embed, store a document at a time."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.chunk import chunk
from ingest.facts import facts
from ingest.readers import format_of, read
from ingest.scan import Candidate, nothing_to_read, scan, source_of, stamp, stamped_includes
from kb.catalog import Catalog, DocumentRecord, DocumentState
from kb.errors import DocumentError
from kb.model import FileReport, IngestReport
from kb.protocols import Embedder
from kb.targets import Targets

READER_VERSION = "2"
"""Raised when readers, chunking or fact extraction change what they produce: then every file is read again."""

BATCH_WINDOWS = 512
"""Texts embedded together, over several documents, so that short ones share a batch."""

Progress = Callable[[FileReport, int, int], None]
"""Called with each file's report once it is final (stored, where it was to be stored), the number done and in all."""


@dataclass(slots=True)
class Ingest:
    """The work of one `kb ingest`. The caller holds the write lock unless it is a dry run."""

    catalog: Catalog
    targets: Targets
    embedder: Embedder | None
    hidden: bool = False
    dry_run: bool = False
    progress: Progress = lambda report, done, total: None
    _reports: list[FileReport] = field(default_factory=list)
    _new_targets: list[str] = field(default_factory=list)
    _total: int = 0

    def run(self, paths: Iterable[Path], *, target: str | None = None) -> IngestReport:
        """Bring the catalog in line with `paths`, all files of one or more files and folders.

        Raises:
            SourceError: a path cannot be used, or there is nothing to read; nothing was done then.
        """
        began = time.monotonic()
        named = self.targets.get(target).name if target else None
        paths = [Path(os.path.realpath(p.expanduser())) for p in paths]
        candidates = list({c.path: c for path in paths for c in scan(path, hidden=self.hidden)}.values())
        stored = self.catalog.states()
        gone = self._gone(paths, candidates, stored)
        if all(c.skip for c in candidates) and not gone:
            raise nothing_to_read(paths, candidates)
        self._total = len(candidates) + len(gone)
        self._store(self._changed(candidates, stored, named))
        self._remove(gone)
        return IngestReport(
            files=tuple(self._reports),
            new_targets=tuple(self._new_targets),
            notes=(),
            seconds=time.monotonic() - began,
            dry_run=self.dry_run,
        )

    @property
    def pipeline(self) -> str:
        return f"{READER_VERSION}/{self.embedder.fingerprint if self.embedder else 'lexical'}"

    def _changed(
        self, candidates: Sequence[Candidate], stored: dict[str, DocumentState], named: str | None
    ) -> Iterator[tuple[DocumentRecord, FileReport]]:
        """What has to be stored; the other files are reported."""
        for candidate in candidates:
            if candidate.skip:
                self._report(FileReport(path=candidate.shown, target="", outcome="skipped", reason=candidate.skip))
                continue
            before = stored.get(candidate.source)
            target = named or self._target_of(candidate, before)
            try:
                document, mark = self._read(candidate, target, before)
            except (DocumentError, OSError) as error:
                self._report(FileReport(path=candidate.shown, target=target, outcome="failed", reason=str(error)))
                continue
            if document is None:
                if before is not None and mark != before.stamp and not self.dry_run:
                    self.catalog.moved(candidate.source, stamp=mark)
                self._report(FileReport(path=candidate.shown, target=target, outcome="unchanged"))
                continue
            yield (
                document,
                FileReport(
                    path=candidate.shown,
                    target=target,
                    outcome="changed" if before else "new",
                    chunks=len(document.chunks),
                    facts=len(document.facts),
                    warnings=document.warnings,
                ),
            )

    def _read(
        self, candidate: Candidate, target: str, before: DocumentState | None
    ) -> tuple[DocumentRecord | None, str]:
        """The document, or None when the stored one is the same, and the file's stamp."""
        try:
            candidate.source.encode()
        except UnicodeEncodeError as error:
            raise DocumentError(f"the name of {candidate.shown} is not UTF-8", hint="rename the file") from error
        same = before is not None and (before.pipeline, before.target) == (self.pipeline, target)
        includes = stamped_includes(before.stamp) if before else ()
        mark = stamp(candidate.path, includes)
        if same and before is not None and mark == before.stamp:
            return None, mark
        content = candidate.path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if same and before is not None and digest == before.sha256 and not includes:
            return None, mark
        parsed = read(candidate.path, content, root=candidate.root)
        title = parsed.metadata.get("title") or (parsed.sections[0].title if parsed.sections else candidate.path.stem)
        found, refused = facts(parsed, target=target)
        mark = stamp(candidate.path, parsed.includes)
        return DocumentRecord(
            source=candidate.source,
            path=candidate.shown,
            target=target,
            title=title,
            format=format_of(candidate.path) or "",
            version=parsed.metadata.get("version", ""),
            licence=parsed.metadata.get("licence", ""),
            sha256=digest,
            stamp=mark,
            pipeline=self.pipeline,
            text=parsed.text,
            lines=parsed.lines,
            warnings=(*parsed.warnings, *refused),
            sections=parsed.sections,
            chunks=chunk(parsed, title=title, tokenizer=self.embedder),
            facts=tuple(found),
        ), mark

    def _store(self, changed: Iterable[tuple[DocumentRecord, FileReport]]) -> None:
        """Embed in batches over several documents; store each in a transaction of its own."""
        pending: list[tuple[DocumentRecord, FileReport]] = []
        windows = 0
        for document, report in changed:
            pending.append((document, report))
            windows += sum(len(c.windows) for c in document.chunks)
            if windows >= BATCH_WINDOWS:
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
        """Vectors of those texts that have none yet."""
        if self.embedder is None or not texts:
            return {}
        missing = sorted(self.catalog.missing_vectors(self.embedder.fingerprint, texts))
        return (
            dict(zip(missing, self.embedder.embed_documents([texts[d] for d in missing]), strict=True))
            if missing
            else {}
        )

    def _gone(
        self, paths: Sequence[Path], candidates: Sequence[Candidate], stored: dict[str, DocumentState]
    ) -> list[DocumentState]:
        """Stored documents below the ingested folders whose file is no longer there, or no longer read."""
        present = {c.source for c in candidates if not c.skip}
        prefixes = tuple(f"{source_of(p)}/" for p in paths if p.is_dir())
        return (
            [s for s in stored.values() if s.source.startswith(prefixes) and s.source not in present]
            if prefixes
            else []
        )

    def _remove(self, gone: Sequence[DocumentState]) -> None:
        if gone and not self.dry_run:
            self.catalog.remove(s.source for s in gone)
        for state in gone:
            self._report(FileReport(path=state.path, target=state.target, outcome="removed"))
        if not self.dry_run and any(r.outcome in ("changed", "removed") for r in self._reports):
            self.catalog.drop_unused_vectors()

    def _target_of(self, candidate: Candidate, before: DocumentState | None) -> str:
        """The target that the folders name, or that the file had; failing both, one named like the ingested folder."""
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
