"""What an open knowledge base knows from documents: ingest, search, facts, citations."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ingest.pipeline import Ingest, Progress
from ingest.scan import SHEETS, file_digest, source_of
from kb.catalog import Catalog, storage_errors, write_lock
from kb.catalog.words import query_words
from kb.errors import CitationError, MissingModelError, QueryError, StoreError
from kb.facts.book import FactBook
from kb.model.documents import IngestReport
from kb.model.fact import Fact
from kb.model.passages import CitedPlace, Context, Hit, SearchResult, Status
from kb.model.protocols import Embedder
from kb.model.records import Trust
from kb.settings import NO_MODEL, Settings, cache_dir
from kb.targets import Targets
from retrieval.chroma_index import ChromaIndex, current_folder, publish
from retrieval.compile import load_embedder
from retrieval.fusion import fuse
from retrieval.packing import pack
from retrieval.reranker import RERANKED_HITS, Reranker
from retrieval.retriever import Retriever
from retrieval.unknown_names import nearest_names, unknown_names
from retrieval.unstated import unstated_unit
from retrieval.vectors import ExactIndex, VectorIndex
from retrieval.widening import widen

DEFAULT_HITS = 5
CONTEXT_CANDIDATES = 50
CITED_LINES_AROUND = 3


class Knowledge:
    """The documents of one home. Use it as a context manager, or call `close()`.

    Args:
        settings: Of the home to open.
        notify: Is told in words what the user should know and cannot see: a model compiled, a model missing.
        embedder: In place of the model that `settings` names.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        notify: Callable[[str], None] = lambda message: None,
        embedder: Embedder | None = None,
    ) -> None:
        self.settings = settings
        self.targets = Targets.load(settings.home)
        self.catalog = Catalog(settings.home)
        self._notify = notify
        self._given_embedder = embedder

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.catalog.close()

    # Writing

    def ingest(
        self,
        paths: Sequence[Path | str],
        *,
        target: str | None = None,
        trust: Trust | None = None,
        hidden: bool = False,
        unknown: bool = False,
        dry_run: bool = False,
        progress: Progress = lambda report, done, total: None,
    ) -> IngestReport:
        """Bring the catalog in line with files and folders, and publish the vector index.

        Args:
            target: Of all documents; by default the folder names say it.
            trust: In all documents; by default what a document had, `vendor` when it is new.
            hidden: Also read files and folders whose names begin with a dot.
            unknown: Also read files of formats that kb does not know, as plain text.
            dry_run: Say what would be done; write nothing.
            progress: Is told of each file when it is done.

        Raises:
            SourceError: a path cannot be used; nothing was done then.
            TargetError: `target` is unknown.
            StoreError: the home cannot be written, is full, or another process writes it.
        """
        work = Ingest(
            self.catalog,
            self.targets,
            self.embedder,
            trust=trust,
            hidden=hidden,
            unknown=unknown,
            dry_run=dry_run,
            progress=progress,
        )
        if dry_run:
            return work.run([Path(p) for p in paths], target=target)
        with write_lock(self.settings.home):
            work.targets = Targets.load(self.settings.home)  # another process may have added some
            report = work.run([Path(p) for p in paths], target=target)
            self.targets = work.targets
            read = {f.target for f in report.files if f.target}
            if sheets := sorted({folder for target in read for folder in self._sheet_folders(target)}):
                Ingest(self.catalog, self.targets, self.embedder).run(sheets)
            self._publish()
        return report

    def _publish(self) -> None:
        """Make the vector index anew where searches ask it and it is out of date. The ingest stands without it."""
        model = self.embedder.fingerprint if self.embedder else None
        if model is None or not self.needs_index() or current_folder(self.catalog, model=model):
            return
        try:
            publish(self.catalog, model=model)
        except StoreError as error:
            self._notify(f"searches will compare every vector: {error.message}")

    def add_target(self, name: str, *, parent: str, aliases: Sequence[str]) -> None:
        """Add a target to this home.

        Raises:
            TargetError: the name or an alias is taken or not well-formed, or the parent is unknown.
            StoreError: the home cannot be written.
        """
        with write_lock(self.settings.home), storage_errors(self.settings.home):
            self.targets = Targets.load(self.settings.home).with_new(name, parent=parent, aliases=aliases)
            self.targets.save(self.targets.get(name).name)

    def ensure_sheets(self, target: str) -> None:
        """Ingest what ships with kb for the lineage of `target`, where it is not stored in this version yet."""
        folders = self._sheet_folders(target)
        sheets = {source_of(file): file_digest(file) for folder in folders for file in folder.glob("*.md")}
        if self.catalog.digests(sheets) == sheets:
            return
        try:
            with write_lock(self.settings.home):
                Ingest(self.catalog, self.targets, self.embedder).run(folders)
        except StoreError as error:
            self._notify(f"the sheets that ship with kb for {target} could not be added: {error.message}")

    def _sheet_folders(self, target: str) -> list[Path]:
        """Folders of the sheets that may speak for `target`."""
        return [SHEETS / name for name in sorted(self.targets.scope(target)) if (SHEETS / name).is_dir()]

    # Asking

    def search(
        self,
        question: str | Sequence[str],
        *,
        target: str | None = None,
        compare: bool = False,
        limit: int = DEFAULT_HITS,
    ) -> SearchResult:
        """The best passages for a question, asked in one or in several ways at once.

        Args:
            question: One phrasing or several; several (the vendor's words, keywords) find more.
            target: Only documents of it, its ancestors and its descendants take part; None for all documents. Of a
                family, only those of the chips that the question names, if it names some.
            compare: Its siblings take part too. Each hit says whose it is.

        Returns:
            At most `limit` hits, the first ones with what stands around them. `insufficient` where each phrasing names
            what no document in scope knows: the manuals do not say, and what would be found would be of something else.

        Raises:
            QueryError: there is no word to search for.
            TargetError: `target` is unknown.
        """
        found = self.find(question, target=target, compare=compare, limit=limit)
        with self.catalog.snapshot():
            return found.model_copy(update={"hits": tuple(widen(found.hits, self.catalog))})

    def find(
        self, question: str | Sequence[str], *, target: str | None = None, compare: bool = False, limit: int
    ) -> SearchResult:
        """What `search` widens and `context` packs."""
        phrasings = self._phrasings(question)
        chips = self.targets.named_below(target, " ".join(phrasings)) if target and not compare else ()
        scope = self._scope(target, chips, compare=compare)
        counts = self.catalog.count_by_target()
        stored = counts.keys() & (scope if scope is not None else counts.keys())
        if not stored:
            return _insufficient(self._no_documents(" or ".join(chips) or target, counts))
        unknown = [unknown_names(self.catalog, phrasing, targets=stored) for phrasing in phrasings]
        if all(unknown):
            return _insufficient(*(self._not_named(name, target, stored) for name in unknown[0]))
        found = self._ranked(phrasings, target=target, scope=scope, limit=limit)
        notes = [*found.notes]
        if chips:
            notes.append(f"the question names {' and '.join(chips)}: other chips of {target} take no part")
        if unit := unstated_unit(phrasings[0], found.hits):
            notes.append(f"none of the passages found states a number in {unit}: the documents may not say it")
        return found.model_copy(update={"notes": tuple(notes)})

    def _ranked(
        self, phrasings: Sequence[str], *, target: str | None, scope: frozenset[str] | None, limit: int
    ) -> SearchResult:
        wanted = max(limit, RERANKED_HITS) if self.reranker else limit
        found = self.retriever().search(phrasings, targets=scope, limit=wanted)
        if self.reranker:
            found = _reranked(self.reranker, phrasings[0], found, limit=limit)
        if target is None:
            return found
        siblings = self.targets.sibling_finder(target)
        return found.model_copy(update={"hits": tuple(_marked(hit, siblings) for hit in found.hits)})

    def _phrasings(self, question: str | Sequence[str]) -> list[str]:
        phrasings = [question] if isinstance(question, str) else list(question)
        if asked := [p for p in phrasings if query_words(p)]:
            return asked
        raise QueryError("the question holds no word to search for", hint="ask with at least one content word")

    def _scope(self, target: str | None, chips: Sequence[str], *, compare: bool) -> frozenset[str] | None:
        """Of `target`, or of those of its `chips` that the question names: then it is about these."""
        if target is None:
            return None
        self.ensure_sheets(target)
        if compare:
            return self.targets.family(target)
        return frozenset().union(*map(self.targets.scope, chips or (target,)))

    def _not_named(self, name: str, target: str | None, stored: Collection[str]) -> str:
        where = f"documents of {self.targets.get(target).name}" if target else "documents"
        if near := nearest_names(self.catalog, name, targets=stored):
            return f"no {where} name {name}; near it they name {', '.join(near)}"
        other = self.targets.find(name)
        if other and other.name not in stored:
            return f"no {where} name {name}, which is a target of its own: ask for it with that target"
        return f"no {where} name {name}; without that name the question can still be searched for"

    def context(
        self,
        question: str | Sequence[str],
        *,
        target: str | None = None,
        compare: bool = False,
        budget_tokens: int | None = None,
    ) -> Context:
        """The passages for a question packed into a token budget. Arguments and errors as of `search`."""
        found = self.find(question, target=target, compare=compare, limit=CONTEXT_CANDIDATES)
        return pack(found, budget_tokens=budget_tokens or self.settings.budget_tokens)

    def facts(self, target: str, quantity: str | None = None, *conditions: str) -> list[Fact]:
        """What holds of `target` and its ancestors, nearest first; never of a sibling or descendant.

        Args:
            quantity: By its own name or a vendor's (`LDS`); all when None.
            conditions: Phrases that the condition of each fact must hold: `float16`, `dense`, `per die`.

        Raises:
            TargetError: the target is unknown.
            FactError: nothing is stated of it, or not that; the hint names what is.
        """
        self.ensure_sheets(target)
        found = self.factbook.profile(target) if quantity is None else self.factbook.find(target, quantity, conditions)
        return [standing.fact for standing in found]

    @property
    def factbook(self) -> FactBook:
        """How facts stand among each other, and what a person decided."""
        return FactBook(self.catalog, self.targets)

    def cite(self, citation_id: str) -> CitedPlace:
        """The place a citation names, as the document stood when it was read.

        Raises:
            CitationError: the id is unknown, or the stored text is not what was cited.
        """
        key, _, nth = citation_id.partition(".")
        row = self.catalog.row(key)
        if nth and row is None:
            raise CitationError(f"{key} is no row of a table, so it has no cell {nth!r}", hint=f"`kb cite {key}`")
        stated = row or self.catalog.fact(key) or self.catalog.passage(key)
        citation, cell = stated.citation, row.cell(nth) if row and nth else ""
        source, lines = self.catalog.source_lines(key, around=CITED_LINES_AROUND)
        file = SHEETS / source.removeprefix("sheet:/") if source.startswith("sheet:/") else Path(source)
        now = file_digest(file) if file.is_file() else None
        return CitedPlace(
            citation=citation,
            file=str(file),
            lines=tuple(lines),
            cell=cell,
            file_exists=now is not None,
            file_same=now == citation.sha256,
        )

    # Parts

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedding model, or None: then search is lexical, and the user is told."""
        if self._given_embedder is not None:
            return self._given_embedder
        if self.settings.embedding_model == NO_MODEL:
            return None
        try:
            return load_embedder(
                self.settings.embedding_model,
                cache=cache_dir(),
                on_compile=lambda name: self._notify(f"compiling the embedding model {name} (once on this machine)"),
            )
        except MissingModelError as error:
            self._notify(f"search is lexical only: {error.message}; {error.hint}")
            return None

    @cached_property
    def reranker(self) -> Reranker | None:
        """The cross-encoder that the settings name, or None."""
        if self.settings.reranker_model == NO_MODEL:
            return None
        return Reranker(self.settings.reranker_model, seconds=self.settings.reranker_seconds)

    def retriever(self) -> Retriever:
        """What searches as the settings say, without regard to targets and names."""
        fusion = partial(fuse, lexical_weight=self.settings.lexical_weight)
        return Retriever(self.catalog, self.embedder, self._indexes(), fusion)

    def _indexes(self) -> list[VectorIndex]:
        """Where dense candidates come from: first of all the published index, where so many vectors need one."""
        return list(self._both_indexes if self.needs_index() else self._both_indexes[1:])

    @cached_property
    def _both_indexes(self) -> tuple[VectorIndex, ...]:
        if self.embedder is None:
            return ()
        model = self.embedder.fingerprint
        return ChromaIndex(self.catalog, model=model), ExactIndex(self.catalog, model=model)

    def needs_index(self) -> bool:
        """Whether there are so many vectors that searches without a target ask the published index."""
        return self.catalog.count_windows() > self.settings.exact_vectors

    def _no_documents(self, target: str | None, counts: dict[str, int]) -> str:
        known = ", ".join(counts) or "none"
        return f"no documents of {target or 'any target'} have been ingested (targets with documents: {known})"


def _insufficient(*notes: str) -> SearchResult:
    return SearchResult(status=Status.INSUFFICIENT, hits=(), notes=notes)


def _reranked(reranker: Reranker, question: str, found: SearchResult, *, limit: int) -> SearchResult:
    """In the order of the cross-encoder, or as they are and said so."""
    hits = reranker.order(question, found.hits)
    late = () if hits is not None else ("the cross-encoder took longer than it may: these hits are in fused order",)
    kept = tuple(found.hits if hits is None else hits)[:limit]
    return found.model_copy(update={"hits": kept, "notes": (*found.notes, *late)})


def _marked(hit: Hit, siblings: Callable[[str], frozenset[str]]) -> Hit:
    """Says of a passage whose headings speak of a sibling that they do; rows that do are not shown for an answer."""
    passage = hit.passage.model_copy(update={"about": tuple(sorted(siblings(hit.passage.trail)))})
    rows = tuple(row for row in hit.rows if not siblings(row.shown))
    return hit.model_copy(update={"passage": passage, "rows": rows})
