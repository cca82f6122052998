"""One open knowledge base: wires the packages together and keeps what is costly to open."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kb.catalog import write_lock
from kb.errors import CandidateError, FactError, RunError, SettingsError
from kb.home.documents import Documents
from kb.home.knowledge import Knowledge
from kb.model.fact import Fact
from kb.model.kernels import Task
from kb.model.passages import Passage
from kb.model.protocols import Synthesizer
from kb.model.records import FactRecord, Form, Trust
from kb.runs.journal import Plan, Run, Runs, SynthesizerKind
from kb.runs.loop import Loop, Tell, Teller, say_nothing, tell_nobody
from kb.settings import cache_dir
from kb.skillbook.library import Skillbook
from kb.targets import ROOT
from retrieval.packing import pack
from synth.anthropic import AnthropicSynthesizer
from synth.fact_proposals import propose_facts
from synth.phrasings import ask_for_phrasings
from synth.tune import TuneSynthesizer

if TYPE_CHECKING:
    from eval.judge.driver import LocalJudge

BRIEF_CANDIDATES = 50


class KnowledgeBase(Knowledge):
    """What `kb.open()` gives: documents, and with them kernels, skills and runs. Arguments as of `Knowledge`."""

    @property
    def documents(self) -> Documents:
        return Documents(self.catalog, self.targets, publish=self._publish)

    @cached_property
    def skills(self) -> Skillbook:
        return Skillbook(self.settings.home)

    @cached_property
    def runs(self) -> Runs:
        return Runs(self.settings.home)

    def judge(self, task: Task, target: str) -> "LocalJudge":
        """A judge for one task and target on this machine; its limits are the target's facts. Close it after use.

        Raises:
            TargetError: `target` is unknown.
            TaskError: the reference fails.
            JudgeError: nothing can be judged for this target here.
        """
        from eval.judge.driver import LocalJudge

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
        if plan.synthesizer is SynthesizerKind.ANTHROPIC:
            _named(plan.model)
        if plan.synthesizer is not SynthesizerKind.TUNE:
            self.ensure_sheets(plan.target)
            if not self.catalog.count_by_target().keys() & (self.targets.scope(plan.target) - {ROOT}):
                raise FactError(
                    f"no document speaks of {plan.target}, so nobody could know how to write a kernel for it",
                    hint=f"`kb ingest` its manuals, with --target {plan.target} where no folder is named so",
                )
        return self.runs.start(plan)

    def loop(self, run: Run, tell: Tell = say_nothing) -> Loop:
        """What goes on with a run: see `Loop`."""
        from eval.languages.registry import language_named

        target = run.plan.target
        return Loop(
            run=run,
            language=language_named(run.plan.language),
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
        synthesizer: SynthesizerKind = SynthesizerKind.TUNE,
        language: str | None = None,
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
            model=self.settings.anthropic_model if synthesizer is SynthesizerKind.ANTHROPIC else "",
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

    def _languages(self, target: str) -> tuple[str, ...]:
        """What kernels for a target may be written in, the usual one first."""
        from eval.devices.registry import device_for

        return device_for(self.targets.isa(target), target).languages

    def phrasings(self, question: str, *, target: str | None = None) -> list[str]:
        """The same question in other words, by the model that the settings name: to be searched together with it.

        Raises:
            SettingsError: no model is named.
            SynthesisError: the model gave no answer.
        """
        return ask_for_phrasings(
            AnthropicSynthesizer(model=_named(self.settings.anthropic_model)), question, target=target
        )

    def propose_facts(self, document: str) -> list[Fact]:
        """Have the model that the settings name read a document for facts that rules missed, and store them.

        They count like running text: none holds before a table says the same, or a person accepts it. Reading
        the document again forgets them.

        Args:
            document: Its path, or the end of it.

        Raises:
            DocumentError: no document is called so.
            SettingsError: no model is named.
            SynthesisError: the model gave no answer.
            StoreError: the home cannot be written.
        """
        read = self.documents.get(document)
        model = AnthropicSynthesizer(model=_named(self.settings.anthropic_model))
        text, named_in = self.catalog.text(read.source), self.targets.finder(self.targets.family(read.target))
        found: list[FactRecord] = []
        for proposal, start in propose_facts(model, text, target=read.target):
            target = self.targets.find(proposal.target)
            spoken_of = {read.target, *(name for _, _, name in named_in(proposal.quote))}
            if target is None or target.name not in spoken_of:
                continue
            record = FactRecord(
                None, target.name, proposal.quantity, proposal.value,
                None if "x" in proposal.value else float(proposal.value), proposal.unit or "1",
                ", ".join(proposal.condition), "", start, start + len(proposal.quote), Form.PROPOSED,
            )  # fmt: skip
            found.append(record)
        with write_lock(self.settings.home):
            keys = self.catalog.add_facts(read.source, found)
        return [fact for key in keys if (fact := self.catalog.fact(key))]

    def _synthesizer(self, plan: Plan) -> Synthesizer:
        if plan.synthesizer == SynthesizerKind.TUNE:
            return TuneSynthesizer()
        if plan.synthesizer == SynthesizerKind.ANTHROPIC:
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
        scope = self.targets.scope(target)
        found = self._ranked(phrases, target=target, scope=scope, limit=BRIEF_CANDIDATES)
        besides = tuple(
            hit
            for hit in found.hits
            if hit.passage.citation.place not in places and hit.passage.trust is not Trust.UNTRUSTED
        )
        packed = pack(found.model_copy(update={"hits": besides}), budget_tokens=self.settings.budget_tokens)
        return facts, list(packed.passages)


def _named(model: str) -> str:
    if not model:
        raise SettingsError(
            "no model is named", hint="set KB_ANTHROPIC_MODEL, or anthropic_model in kb.toml of the home"
        )
    return model
