"""One open knowledge base: every use case of kb, for the command line, MCP and Python alike.

Whatever takes long to import is imported by the method that needs it: a question about facts loads no models and no
judge.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kb.catalog import Catalog, storage_errors, write_lock
from kb.errors import FactError
from kb.targets import Targets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eval.roofline import Roofline
    from ingest.pipeline import Progress
    from kb.facts.book import Conflict, Difference, FactBook
    from kb.facts.profile import StandingFact
    from kb.home.documents import Documents
    from kb.home.probing import ProbeReport
    from kb.home.running import Submission
    from kb.home.searching import Models
    from kb.model.documents import IngestReport
    from kb.model.evidence import Evidence
    from kb.model.fact import Fact
    from kb.model.kernels import Candidate, Task
    from kb.model.passages import CitedPlace, Context, SearchResult
    from kb.model.protocols import Embedder
    from kb.model.records import Trust
    from kb.runs.journal import Plan, Run, Runs
    from kb.runs.loop import Tell, Teller
    from kb.settings import Settings
    from kb.skillbook.library import Skillbook
    from synth.prompts.prompt import Prompt

DEFAULT_HITS = 5


class KnowledgeBase:
    """What `kb.open()` gives. Use it as a context manager, or call `close()`.

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
        self.notify = notify
        self._given_embedder = embedder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.catalog.close()

    # Parts

    @cached_property
    def models(self) -> Models:
        """What searches: the embedding model, the cross-encoder and the vectors."""
        from kb.home.searching import Models

        return Models(self.catalog, self.settings, notify=self.notify, embedder=self._given_embedder)

    @property
    def documents(self) -> Documents:
        from kb.home.documents import Documents

        return Documents(self.catalog, self.targets, publish=lambda: self.models.publish_index())

    @property
    def factbook(self) -> FactBook:
        """How facts stand among each other, and what a person decided."""
        from kb.facts.book import FactBook

        return FactBook(self.catalog, self.targets)

    @cached_property
    def skills(self) -> Skillbook:
        from kb.skillbook.library import Skillbook

        return Skillbook(self.settings.home)

    @cached_property
    def runs(self) -> Runs:
        from kb.runs.journal import Runs

        return Runs(self.settings.home)

    # Documents

    def ingest(
        self,
        paths: Sequence[Path | str],
        *,
        target: str | None = None,
        trust: Trust | None = None,
        hidden: bool = False,
        unknown: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
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
            SourceError, TargetError: a path cannot be used, `target` is unknown; nothing was done then.
            StoreError: the home cannot be written, is full, or another process writes it.
        """
        from kb.home.ingesting import ingest

        files = [Path(path) for path in paths]
        return ingest(
            self, files, target=target, trust=trust, hidden=hidden, unknown=unknown, dry_run=dry_run, progress=progress
        )

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
        from kb.home.ingesting import ensure_sheets

        ensure_sheets(self, target)

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
        from kb.home.searching import find
        from retrieval.widening import widen

        found = find(self, question, target=target, compare=compare, limit=limit)
        with self.catalog.snapshot():
            return found.model_copy(update={"hits": tuple(widen(found.hits, self.catalog))})

    def context(
        self,
        question: str | Sequence[str],
        *,
        target: str | None = None,
        compare: bool = False,
        budget_tokens: int | None = None,
    ) -> Context:
        """The passages for a question packed into a token budget. Arguments and errors as of `search`."""
        from kb.home.searching import CONTEXT_CANDIDATES, find
        from retrieval.packing import pack

        found = find(self, question, target=target, compare=compare, limit=CONTEXT_CANDIDATES)
        return pack(found, budget_tokens=budget_tokens or self.settings.budget_tokens)

    def phrasings(self, question: str, *, target: str | None = None) -> list[str]:
        """The same question in other words, by the model that the settings name: to be searched together with it.

        Raises:
            SettingsError, SynthesisError: no model is named; the model gave no answer.
        """
        from kb.home.running import chat_model
        from synth.phrasings import ask_for_phrasings

        return ask_for_phrasings(chat_model(self.settings.anthropic_model), question, target=target)

    def cite(self, citation_id: str) -> CitedPlace:
        """The place a citation names, as the document stood when it was read. Errors as of `Documents.cite`."""
        return self.documents.cite(citation_id)

    # Facts

    def facts(self, target: str, quantity: str | None = None, *conditions: str, unit: str | None = None) -> list[Fact]:
        """What holds of `target` and its ancestors, nearest first; never of a sibling or descendant.

        Args:
            quantity: By its own name or a vendor's (`LDS`); all when None.
            conditions: Phrases that the condition of each fact must hold: `float16`, `dense`, `per die`.
            unit: To give the values in; by default the documents'.

        Raises:
            TargetError: the target is unknown.
            FactError: nothing is stated of it, or not that; the hint names what is. Or it is not counted in `unit`.
        """
        from kb.facts.book import in_unit

        self.ensure_sheets(target)
        book = self.factbook
        found = book.profile(target) if quantity is None else book.find(target, quantity, conditions)
        return [in_unit(standing.fact, unit) if unit else standing.fact for standing in found]

    def known_facts(self, target: str) -> list[Fact]:
        """What holds of `target`, as `facts` says it; empty where nothing is stated."""
        try:
            return self.facts(target)
        except FactError:
            return []

    def standings(self, target: str, quantity: str | None = None) -> list[StandingFact]:
        """All that is said of `target`, or of one quantity of it, whether it holds or not. Errors as of `facts`."""
        self.ensure_sheets(target)
        return self.factbook.all_of(target, quantity) if quantity else self.factbook.standings(target)

    def conflicts(self, target: str | None = None) -> list[Conflict]:
        """Where documents contradict each other about `target`, or about any target: what is open first."""
        if target:
            self.ensure_sheets(target)
        return self.factbook.conflicts(target)

    def differences(self, first: str, second: str) -> list[Difference]:
        """Where the profiles of two targets differ. Errors as of `facts`."""
        for target in (first, second):
            self.ensure_sheets(target)
        return self.factbook.differences(first, second)

    def propose_facts(self, document: str) -> list[Fact]:
        """Have the model that the settings name read a document for facts that rules missed, and store them.

        They count like running text: none holds before a table says the same, or a person accepts it. Reading
        the document again forgets them. `document` is its path, or the end of it.

        Raises:
            DocumentError: no document is called so.
            SettingsError, SynthesisError: no model is named; the model gave no answer.
            StoreError: the home cannot be written.
        """
        from kb.home.proposing import propose
        from kb.home.running import chat_model

        return propose(self, chat_model(self.settings.anthropic_model), document)

    def probe(
        self,
        target: str | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> ProbeReport:
        """Measure this machine beside what its vendor states, and store what was found as measured facts.

        Args:
            target: Whose facts they are; by default what the device's name says. Of a CPU, the CPU is measured.
            dry_run: Store nothing.
            progress: Is told how many steps of how many are done.

        Raises:
            TargetError: `target` is unknown, or none is known for the device.
            StoreError: the home cannot be written.
        """
        from kb.home.probing import probe

        return probe(self, target, dry_run=dry_run, progress=progress)

    # Kernels

    def verify(self, task: Task, candidate: Candidate, target: str) -> Evidence:
        """Judge one kernel.

        Raises:
            TargetError, TaskError: `target` is unknown; the reference fails.
            JudgeError: nothing can be judged for this target here, or nothing in this language.
        """
        from kb.home import running

        return running.verify(self, task, candidate, target)

    def roofline(self, task: Task, target: str) -> Roofline:
        """The shortest time that a task can take on a target. A judge runs the reference to see what it moves and does.

        Raises: What `verify` raises, and FactError when no document states a rate that it needs.
        """
        from kb.home import running

        return running.roofline(self, task, target)

    def plan(
        self,
        task: Task,
        target: str,
        *,
        synthesizer: str = "tune",
        language: str | None = None,
        evaluations: int = 8,
        seed: int = 0,
        control: bool = False,
    ) -> Plan:
        """What to do in a run: see `Plan`. The language is by default the usual one for the target.

        Args:
            synthesizer: `tune`, `anthropic`, or `external` for a run that `prompt` starts.

        Raises:
            RunError, CandidateError, TargetError: there is no such synthesizer, language or target.
        """
        from eval.languages.registry import language_named
        from kb.home.running import languages
        from kb.runs.journal import Plan, SynthesizerKind

        kind = SynthesizerKind.named(synthesizer)
        return Plan(
            task=task,
            target=target,
            language=language_named(language).name if language else languages(self, target)[0],
            synthesizer=kind,
            model=self.settings.anthropic_model if kind is SynthesizerKind.ANTHROPIC else "",
            evaluations=evaluations,
            seed=seed,
            control=control,
        )

    def prompt(self, plan: Plan) -> tuple[Run, Prompt]:
        """Start a run that is answered by `submit`, and say what to ask for first. Errors as of `optimize`."""
        from kb.home import running

        return running.prompt(self, plan)

    def submit(self, run: Run, answer: Candidate | str, *, note: str = "", tell: Tell | None = None) -> Submission:
        """Judge an answer to the last prompt, write a win back as a skill, and say what to ask for next.

        Args:
            answer: A kernel, or a model's whole answer.
            note: One line: what it is, or what it changes; by default what the answer says.
            tell: Is told of the candidate when it is judged.

        Raises: What `Loop.submit` and `verify` raise.
            SynthesisError: no kernel can be read from the answer.
        """
        from kb.home import running

        return running.submit(self, run, answer, note=note, tell=tell)

    def optimize(self, plan: Plan, *, minutes: float | None = None, tell: Teller | None = None) -> Run:
        """Start a run of `tune` or `anthropic` and see it through. A plan that cannot work is refused at once.

        Args:
            tell: Is given the run when it starts, and gives what is told of each candidate.

        Raises: What `verify` and `Loop.optimize` raise.
            RunError, CandidateError, FactError, SettingsError: the plan cannot work: see `kb.home.running`.
        """
        from kb.home import running

        return running.optimize(self, plan, minutes=minutes, tell=tell)

    def resume(self, run: Run, *, minutes: float | None = None, tell: Teller | None = None) -> None:
        """Go on with a run of `tune` or `anthropic`. Errors as of `optimize`."""
        from kb.home import running

        running.resume(self, run, minutes=minutes, tell=tell)
