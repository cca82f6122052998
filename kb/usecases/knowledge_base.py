"""The class KnowledgeBase: every use case of kb as a method, for the command line, MCP and Python.

Methods import the modules that do the work, so a question about facts loads no models and no judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.usecases.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from eval.roofline import Roofline
    from kb.facts.book import Conflict
    from kb.facts.resolution import StandingFact
    from kb.facts.worksheet import Entry
    from kb.runs.journal import Plan, Run
    from kb.runs.loop import OnAttempt, OnStart
    from kb.types.documents import IngestReport, Progress
    from kb.types.evidence import Evidence
    from kb.types.fact import Fact, FactAnswer
    from kb.types.kernels import Candidate, Interface, Task
    from kb.types.passages import CitedPlace, Context, SearchFilter, SearchResult
    from kb.types.records import Trust
    from kb.types.symbols import SymbolReport
    from kb.usecases.fact_reading import FactsAnswered
    from kb.usecases.probing import ProbeReport
    from kb.usecases.running import Submission
    from kb.usecases.target_tree import TargetTree
    from synth.prompts.prompt import Prompt

DEFAULT_HITS = 5
DEFAULT_PLACES = 15


class KnowledgeBase(Home):
    """An open home with every use case as a method. `kb.open()` returns it."""

    # Documents

    def ingest(
        self,
        paths: Sequence[Path | str],
        *,
        target: str | None = None,
        parent: str | None = None,
        trust: Trust | None = None,
        hidden: bool = False,
        unknown: bool = False,
        exclude: Sequence[str] = (),
        dry_run: bool = False,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> IngestReport:
        """Update the catalog to match files, folders and archives, embed all passages, and publish the vector index.

        Lexical search finds each document once it is read; vector search comes last.

        Args:
            target: Target of all documents, which is added if it is unknown (default: the folder names tell it).
            parent: Parent of targets that are added (default: `any`).
            trust: Trust of all documents (default: unchanged, `vendor` for new documents).
            hidden: Also read files and folders whose names begin with a dot.
            unknown: Also read files of unknown formats, as plain text.
            exclude: Patterns of files to skip, in the form of .gitignore, besides those of `.kbignore` files.
            dry_run: Report what would be done; write nothing.
            progress: Called for each file that was read and for each batch of passages that got vectors.

        Raises:
            SourceError, TargetError: a path cannot be used, or no target can be told; nothing was changed.
            StoreError: the home cannot be written, is full, or another process is writing it.
            IngestInterrupted: a KeyboardInterrupt, with the report so far.
        """
        from ingest.pipeline import Ingest
        from kb.usecases.ingesting import ingest

        work = Ingest(
            self.catalog, self.targets, self.models.embedder, trust, hidden, unknown, dry_run, progress, exclude, parent
        )
        return ingest(self, work, paths, target=target)

    @property
    def target_tree(self) -> TargetTree:
        """The targets with their documents, and the changes that a user can make to them."""
        from kb.usecases.target_tree import TargetTree

        return TargetTree(self)

    def search(
        self,
        question: str | Sequence[str],
        *,
        target: str | None = None,
        compare: bool = False,
        only: SearchFilter | None = None,
        limit: int = DEFAULT_HITS,
    ) -> SearchResult:
        """The best passages for a question.

        Args:
            question: One phrasing or several; several (the vendor's words, keywords) find more.
            target: Search the documents of this target, its ancestors and its descendants (default: all documents).
                If the target is a family and the question names some of its chips, search only those.
            compare: Also search the target's siblings. Each hit names its target.
            only: Limits the search further (default: not).

        Returns:
            At most `limit` hits, the first ones with their surroundings. A phrasing that names something that no
            document in scope mentions gets a note; if all do, the status is `insufficient`.

        Raises:
            QueryError: there is no word to search for.
            TargetError, DocumentError: `target` or a name in `only` is unknown.
            StoreError: the home has no document of the target, and cannot get the sheets that ship with kb.
        """
        from kb.usecases.searching import asked

        phrasings, scope = asked(self, question, target=target, compare=compare, only=only)
        return self.search_engine.search(phrasings, scope, limit=limit)

    def context(
        self,
        question: str | Sequence[str],
        *,
        target: str | None = None,
        compare: bool = False,
        only: SearchFilter | None = None,
        budget_tokens: int | None = None,
    ) -> Context:
        """The passages for a question packed into a token budget. Arguments and errors as in `search`."""
        from kb.usecases.searching import context

        return context(self, question, target=target, compare=compare, only=only, budget_tokens=budget_tokens)

    def symbol(self, name: str, *, target: str | None = None, limit: int = DEFAULT_PLACES) -> SymbolReport:
        """Where documents define, list, call and mention an identifier; see `retrieval.symbols.lookup.look_up`."""
        from kb.usecases.sheets import ensure_sheets
        from retrieval.symbols.lookup import look_up

        if target:
            ensure_sheets(self, target)
        return look_up(self.catalog, self.targets, name, target=target, limit=limit)

    def cite(self, citation_id: str) -> CitedPlace:
        """See `Documents.cite`."""
        return self.documents.cite(citation_id)

    # Facts

    def facts(self, target: str, quantity: str | None = None, *conditions: str) -> list[Fact]:
        """The facts that hold for `target`, its own before inherited ones; never those of a sibling or descendant.

        Args:
            quantity: kb's or the vendor's name of a quantity (`LDS`; default: all quantities).
            conditions: Phrases that the condition of each fact must contain: `float16`, `dense`, `per die`.

        Raises:
            TargetError: the target is unknown.
            FactError: no such fact holds for it; the hint names known facts.
        """
        from kb.usecases.fact_lookup import facts

        return facts(self, target, quantity, *conditions)

    def known_facts(self, target: str) -> list[Fact]:
        """As `facts(target)`, but empty where there are none, or none that could be read."""
        from kb.usecases.fact_lookup import known_facts

        return known_facts(self, target)

    def standings(self, target: str, quantity: str | None = None) -> list[StandingFact]:
        """All statements about `target` or one of its quantities, with their standings. Errors as in `facts`."""
        from kb.usecases.sheets import with_sheets

        with with_sheets(self, target):
            return self.factbook.all_of(target, quantity)

    def conflicts(self, target: str | None = None) -> list[Conflict]:
        """List where documents contradict each other about `target` (default: any target), open conflicts first."""
        from kb.usecases.sheets import with_sheets

        with with_sheets(self, *([target] if target else ())):
            return self.factbook.conflicts(target)

    def worksheet(self, target: str) -> list[Entry]:
        """What a kernel's author needs to know of `target`: the facts that hold, and those to be confirmed.

        Raises:
            TargetError: the target is unknown.
        """
        from kb.usecases.fact_reading import worksheet_of

        return worksheet_of(self, target)

    def fact_questions(self, target: str, *, topic: str | None = None, everything: bool = False) -> Iterator[Entry]:
        """The questions of the worksheet, open ones with passages that may answer. Errors as in `worksheet`.

        Args:
            topic: Limit to the questions of this topic; an unknown one is a FactError.
            everything: Passages also for the questions about which facts hold already.
        """
        from kb.usecases.fact_reading import questions

        return questions(self, target, topic=topic, everything=everything)

    def answer_facts(self, target: str, answers: Sequence[FactAnswer]) -> FactsAnswered:
        """Store a reader's answers whose quotes stand in the documents of `target` and hold their values.

        They hold after a person accepts them. A document that is ingested again keeps those that it still states.

        Raises:
            TargetError: the target is unknown.
            StoreError: the home cannot be written.
        """
        from kb.usecases.fact_reading import store_answers

        return store_answers(self, target, answers)

    def propose_facts(self, target: str, *, budget_tokens: int) -> FactsAnswered:
        """Let the model of the settings answer the open questions of the worksheet. As `answer_facts`, and:

        Args:
            budget_tokens: Most tokens to pay for; questions that do not fit are listed as unread.

        Raises:
            SettingsError, SynthesisError: the settings name no model; the model gave no answer at all.
        """
        from kb.usecases.fact_reading import ask_model
        from kb.usecases.language_model import chat_model

        model = chat_model(self.settings.anthropic_model)
        return ask_model(self, target, model, budget_tokens=budget_tokens)

    def probe(
        self,
        target: str | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> ProbeReport:
        """Measure this machine, compare it with the vendor's facts, and store the results as measured facts.

        Args:
            target: Target of the facts (default: the device's name tells it). For a CPU target, the CPU is measured.
            dry_run: Store nothing.
            progress: Called with the number of steps done and their total.

        Raises:
            TargetError: `target` is unknown, or kb knows no target for the device.
            StoreError: the home cannot be written.
        """
        from kb.usecases.probing import probe

        return probe(self, target, dry_run=dry_run, progress=progress)

    # Kernels

    def verify(self, task: Task, candidate: Candidate, target: str) -> Evidence:
        """Judge one kernel.

        Raises:
            TargetError, TaskError: `target` is unknown; the reference fails.
            JudgeError: this machine cannot judge kernels for this target or in this language.
        """
        from kb.usecases.judging import judge_for

        with judge_for(self, task, target, candidate.language) as judge:
            return judge.verify(candidate)

    def roofline(self, task: Task, target: str) -> Roofline:
        """The shortest time that a task can take on a target, from a run of the reference by a judge.

        Raises: As `verify`, and FactError if no document states a required rate.
        """
        from eval.roofline import task_roofline
        from kb.usecases.judging import interface_of

        return task_roofline(interface_of(self, task, target), self.facts(target))

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
        """A plan for `prompt` or `optimize`; see `Plan`.

        Args:
            synthesizer: `tune`, `anthropic`, or `external` for a run that `prompt` starts.
            language: Language of the candidates (default: the usual one for the target).

        Raises:
            RunError, CandidateError, TargetError: the synthesizer, language or target is unknown.
        """
        from kb.usecases.running import plan_of

        return plan_of(
            self, task, target, synthesizer=synthesizer, language=language, evaluations=evaluations, seed=seed,
            control=control,
        )  # fmt: skip

    def prompt(self, plan: Plan) -> tuple[Run, Prompt]:
        """Start a run that `submit` drives, and return its first prompt. Errors as in `optimize`."""
        from kb.usecases.running import prompt

        return prompt(self, plan)

    def draft_prompt(self, plan: Plan, interface: Interface, *, budget_tokens: int) -> Prompt:
        """The first prompt of such a run, which is not started: the caller states the task's interface, no code runs.

        Args:
            budget_tokens: Most tokens of the prompt.

        Raises: As `optimize`.
            SynthesisError: task, contract and answer format alone exceed the budget.
        """
        from kb.usecases.running import draft_prompt

        return draft_prompt(self, plan, interface, budget_tokens=budget_tokens)

    def submit(
        self, run: Run, answer: Candidate | str, *, note: str = "", on_attempt: OnAttempt | None = None
    ) -> Submission:
        """Judge an answer to the last prompt, save a winning kernel as a skill, and build the next prompt.

        Args:
            answer: A kernel, or a model's whole answer.
            note: One line that describes the kernel or the change (default: taken from the answer).
            on_attempt: Called with the judged candidate.

        Raises: As `Loop.submit` and `verify`.
            SynthesisError: no kernel can be read from the answer.
        """
        from kb.usecases.running import submit

        return submit(self, run, answer, note=note, on_attempt=on_attempt)

    def optimize(self, plan: Plan, *, minutes: float | None = None, on_start: OnStart | None = None) -> Run:
        """Start a run of `tune` or `anthropic` and drive it to its end. A bad plan is refused before a judge starts.

        `on_start` gets the run when it starts, and returns the function to call with each judged candidate.

        Raises: As `verify` and `Loop.optimize`.
            RunError, CandidateError, FactError, SettingsError: the plan cannot work; see `kb.usecases.running`.
        """
        from kb.usecases.running import optimize

        return optimize(self, plan, minutes=minutes, on_start=on_start)

    def resume(self, run: Run, *, minutes: float | None = None, on_start: OnStart | None = None) -> None:
        """Continue a run of `tune` or `anthropic`. Errors as in `optimize`."""
        from kb.usecases.running import resume

        resume(self, run, minutes=minutes, on_start=on_start)
