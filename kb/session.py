"""One open knowledge base: wires the packages together and keeps what is costly to open."""

import difflib
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from eval.driver import LocalJudge
from ingest.pipeline import Ingest, Progress
from ingest.scan import SHEETS, file_digest, source_of
from kb.catalog import Catalog, storage_errors, write_lock
from kb.catalog.words import query_words
from kb.errors import CandidateError, FactError, MissingModelError, QueryError, RunError, SettingsError, StoreError
from kb.kernels import Language, Task
from kb.loop import Loop, Tell, Teller, say_nothing, tell_nobody
from kb.model import CitedPlace, Context, Fact, IngestReport, Passage, SearchResult, Status
from kb.protocols import Embedder, Synthesizer
from kb.runs import Kind, Plan, Run, Runs
from kb.settings import NO_MODEL, Settings, cache_dir
from kb.skillbook import Skillbook
from kb.targets import ROOT, Targets
from retrieval.chroma_index import ChromaIndex, current_folder, publish
from retrieval.compile import load_embedder
from retrieval.packing import pack
from retrieval.retriever import Retriever
from synth.anthropic_model import AnthropicSynthesizer
from synth.tune import TuneSynthesizer

DEFAULT_HITS = 5
CONTEXT_CANDIDATES = 50
CITED_LINES_AROUND = 3
SUGGESTIONS = 5


class KnowledgeBase:
    """What `kb.open()` gives. Use it as a context manager, or call `close()`.

    Args:
        settings: Of the home to open.
        long_lived: Ask the published vector index, which takes time to open; otherwise compare all vectors in scope.
            Both give the same answers.
        notify: Is told in words what the user should know and cannot see: a model compiled, a model missing.
        embedder: In place of the model that `settings` names.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        long_lived: bool = True,
        notify: Callable[[str], None] = lambda message: None,
        embedder: Embedder | None = None,
    ) -> None:
        self.settings = settings
        self.targets = Targets.load(settings.home)
        self.catalog = Catalog(settings.home)
        self.skills = Skillbook(settings.home)
        self.runs = Runs(settings.home)
        self._long_lived = long_lived
        self._notify = notify
        self._given_embedder = embedder
        self._index: ChromaIndex | None = None

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
        hidden: bool = False,
        dry_run: bool = False,
        progress: Progress = lambda report, done, total: None,
    ) -> IngestReport:
        """Bring the catalog in line with files and folders, and publish the vector index.

        Args:
            target: Of all documents; by default the folder names say it.
            hidden: Also read files and folders whose names begin with a dot.
            dry_run: Say what would be done; write nothing.
            progress: Is told of each file when it is done.

        Raises:
            SourceError: a path cannot be used; nothing was done then.
            TargetError: `target` is unknown.
            StoreError: the home cannot be written, is full, or another process writes it.
        """
        work = Ingest(self.catalog, self.targets, self.embedder, hidden=hidden, dry_run=dry_run, progress=progress)
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
        """Make the vector index anew where it is out of date. It is a cache: the ingest stands without it."""
        if self.embedder and current_folder(self.catalog, model=self.embedder.fingerprint) is None:
            try:
                publish(self.catalog, model=self.embedder.fingerprint)
            except StoreError as error:
                self._notify(f"searches will scan: {error.message}")

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
        digests = {source: state.sha256 for source, state in self.catalog.states().items()} if folders else {}
        if all(digests.get(source_of(f)) == file_digest(f) for d in folders for f in d.glob("*.md")):
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
        self, question: str | Sequence[str], *, target: str | None = None, limit: int = DEFAULT_HITS
    ) -> SearchResult:
        """The best passages for a question, asked in one or in several ways at once.

        Args:
            question: One phrasing or several; several (the vendor's words, keywords) find more.
            target: Only documents of it, its ancestors and its descendants take part; None for all documents.

        Raises:
            QueryError: there is no word to search for.
            TargetError: `target` is unknown.
        """
        phrasings = [question] if isinstance(question, str) else list(question)
        phrasings = [p for p in phrasings if query_words(p)]
        if not phrasings:
            raise QueryError("the question holds no word to search for", hint="ask with at least one content word")
        scope = None
        if target is not None:
            self.ensure_sheets(target)
            scope = self.targets.scope(target)
        counts = self.catalog.count_by_target()
        if not counts.keys() & (scope if scope is not None else counts.keys()):
            return SearchResult(status=Status.INSUFFICIENT, hits=(), notes=(self._no_documents(target, counts),))
        retriever = Retriever(self.catalog, self.embedder, self.settings.lexical_weight, self._vector_index())
        return retriever.search(phrasings, targets=scope, limit=limit)

    def context(
        self, question: str | Sequence[str], *, target: str | None = None, budget_tokens: int | None = None
    ) -> Context:
        """The passages for a question packed into a token budget. Raises what `search` raises."""
        found = self.search(question, target=target, limit=CONTEXT_CANDIDATES)
        return pack(found, budget_tokens=budget_tokens or self.settings.budget_tokens)

    def facts(self, target: str, quantity: str | None = None) -> list[Fact]:
        """What documents state of `target` and its ancestors, nearest first; never of a sibling or descendant.

        Raises:
            TargetError: the target is unknown.
            FactError: nothing is stated of it, or not that quantity; the hint names what is.
        """
        self.ensure_sheets(target)
        lineage = self.targets.lineage(target)
        known = sorted(self.catalog.facts(lineage), key=lambda f: (lineage.index(f.target), f.quantity))
        if not known:
            below = sorted({f.target for f in self.catalog.facts(self.targets.scope(target))})
            raise FactError(
                f"no document states facts of {lineage[0]}",
                hint=f"facts are known of {', '.join(below)}" if below else "ingest a document with a fact table",
            )
        if quantity is None:
            return known
        wanted = "_".join(quantity.lower().split())
        if chosen := [f for f in known if f.quantity == wanted]:
            return chosen
        names = sorted({f.quantity for f in known})
        near = difflib.get_close_matches(wanted, names, n=3) or [
            n for n in names if any(p in n for p in wanted.split("_"))
        ]
        raise FactError(
            f"no document states {quantity!r} of {lineage[0]}",
            hint=f"did you mean {', '.join(near[:SUGGESTIONS])}?" if near else f"known: {', '.join(names)}",
        )

    def cite(self, citation_id: str) -> CitedPlace:
        """The place a citation names, as the document stood when it was read.

        Raises:
            CitationError: the id is unknown, or the stored text is not what was cited.
        """
        key, _, nth = citation_id.partition(".")
        row = self.catalog.row(key)
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

    # Kernels

    def judge(self, task: Task, target: str) -> LocalJudge:
        """A judge for one task and target on this machine; its limits are the target's facts. Close it after use.

        Raises:
            TargetError: `target` is unknown.
            TaskError: the reference fails.
            JudgeError: nothing can be judged for this target here.
        """
        name = self.targets.get(target).name
        return LocalJudge(
            task, target=name, isa=self.targets.isa(name), facts=self._known_facts(name), cache=cache_dir()
        )

    def start_run(self, plan: Plan) -> Run:
        """A new run. A language model or a person is asked only about a target that documents speak of.

        Raises:
            TargetError: the target is unknown.
            CandidateError: kernels for it are not written in that language.
            FactError: no document speaks of it, and the synthesizer would have to guess.
            SettingsError: a model is to be asked and none is named.
        """
        plan = plan.model_copy(update={"target": self.targets.get(plan.target).name})
        if plan.language not in (fitting := self._languages(plan.target)):
            raise CandidateError(
                f"kernels for {plan.target} are not written in {plan.language}", hint=f"write {' or '.join(fitting)}"
            )
        if plan.synthesizer is Kind.ANTHROPIC and not plan.model:
            raise SettingsError(
                "no model is named", hint="set KB_ANTHROPIC_MODEL, or anthropic_model in kb.toml of the home"
            )
        if plan.synthesizer is not Kind.TUNE:
            self.ensure_sheets(plan.target)
            if not self.catalog.count_by_target().keys() & (self.targets.scope(plan.target) - {ROOT}):
                raise FactError(
                    f"no document speaks of {plan.target}, so nobody could know how to write a kernel for it",
                    hint=f"`kb ingest` its manuals, with --target {plan.target} where no folder is named so",
                )
        return self.runs.start(plan)

    def loop(self, run: Run, tell: Tell = say_nothing) -> Loop:
        """What goes on with a run: see `Loop`."""
        target = run.plan.target
        return Loop(
            run=run,
            skillbook=self.skills,
            scope=self.targets.scope(target),
            brief=lambda phrases: self._brief(phrases, target),
            tell=tell,
        )

    def plan(
        self,
        task: Task,
        target: str,
        *,
        synthesizer: Kind = Kind.TUNE,
        language: Language | None = None,
        evaluations: int = 8,
        seed: int = 0,
        control: bool = False,
    ) -> Plan:
        """What to do in a run: see `Plan`. The language is by default the usual one for the target."""
        return Plan(
            task=task,
            target=target,
            language=language or self._languages(target)[0],
            synthesizer=synthesizer,
            model=self.settings.anthropic_model if synthesizer is Kind.ANTHROPIC else "",
            evaluations=evaluations,
            seed=seed,
            control=control,
        )

    def optimize(self, plan: Plan, *, minutes: float | None = None, tell: Teller = tell_nobody) -> Run:
        """Start a run of `tune` or `anthropic` and see it through.

        Args:
            tell: Is given the run when it starts, and gives what is told of each candidate.

        Raises: What `start_run`, `judge` and `Loop.optimize` raise.
        """
        synthesizer = self._synthesizer(plan)
        with self.judge(plan.task, plan.target) as judge:
            run = self.start_run(plan)
            self.loop(run, tell(run)).optimize(synthesizer, judge, minutes=minutes)
        return run

    def resume(self, run: Run, *, minutes: float | None = None, tell: Teller = tell_nobody) -> None:
        """Go on with a run of `tune` or `anthropic`.

        Raises:
            RunError: it is over, held by another process, or answered by hand.
        """
        synthesizer = self._synthesizer(run.plan)
        with self.judge(run.plan.task, run.plan.target) as judge:
            self.loop(run, tell(run)).optimize(synthesizer, judge, minutes=minutes)

    def _languages(self, target: str) -> tuple[Language, ...]:
        """What kernels for a target may be written in, the usual one first."""
        on_cpu = self.targets.isa(target).startswith("cpu ")
        return (Language.CPP, Language.TORCH) if on_cpu else (Language.TRITON,)

    def _synthesizer(self, plan: Plan) -> Synthesizer:
        if plan.synthesizer == Kind.TUNE:
            return TuneSynthesizer()
        if plan.synthesizer == Kind.ANTHROPIC:
            return AnthropicSynthesizer(model=plan.model)
        raise RunError("this run is answered by hand", hint="`kb submit RUN FILE` judges an answer")

    def _known_facts(self, target: str) -> list[Fact]:
        try:
            return self.facts(target)
        except FactError:
            return []

    def _brief(self, phrases: Sequence[str], target: str) -> tuple[list[Fact], list[Passage]]:
        """All facts of a target, and what its documents say besides in answer to `phrases`."""
        facts = self._known_facts(target)
        places = {fact.citation.place for fact in facts}
        found = self.search(phrases, target=target, limit=CONTEXT_CANDIDATES)
        besides = tuple(hit for hit in found.hits if hit.passage.citation.place not in places)
        packed = pack(found.model_copy(update={"hits": besides}), budget_tokens=self.settings.budget_tokens)
        return facts, list(packed.passages)

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

    def _vector_index(self) -> ChromaIndex | None:
        """The published index when it matches the catalog as it is now and can be opened."""
        if not self._long_lived or self.embedder is None:
            return None
        folder = current_folder(self.catalog, model=self.embedder.fingerprint)
        if folder is None:
            return None
        if self._index is None or self._index.folder != folder:
            try:
                self._index = ChromaIndex(self.catalog, model=self.embedder.fingerprint)
            except StoreError as error:
                self._notify(error.message)
                return None
        return self._index

    def _no_documents(self, target: str | None, counts: dict[str, int]) -> str:
        known = ", ".join(counts) or "none"
        return f"no documents of {target or 'any target'} have been ingested (targets with documents: {known})"
