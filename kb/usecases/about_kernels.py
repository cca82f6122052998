"""The use cases about kernels, as methods of an open home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.errors import FactError
from kb.usecases.about_facts import AboutFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.roofline import Roofline
    from kb.runs.journal import Plan, Run
    from kb.runs.loop import OnAttempt, OnStart
    from kb.types.evidence import Evidence
    from kb.types.kernels import Candidate, Interface, Task
    from kb.types.protocols import Stage
    from kb.usecases.running import Submission
    from synth.authors.spending import Budget
    from synth.prompts.prompt import Prompt


class AboutKernels(AboutFacts):
    """Judge kernels, whose limits are facts, and drive the runs that make them."""

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
        from eval.roofline import RATES, UNKNOWN_RATE, task_roofline
        from kb.usecases.fact_lookup import unconfirmed
        from kb.usecases.judging import interface_of

        try:
            stated = self.facts(target)
            if (found := task_roofline(interface_of(task), stated)).ceilings:
                return found
            raise FactError("; ".join(found.unknown), hint=UNKNOWN_RATE)
        except FactError as error:
            if not (read := unconfirmed(self, target, RATES)):
                raise
            ids = " ".join(fact.citation.id for fact in read)
            names = ", ".join(dict.fromkeys(fact.quantity for fact in read))
            raise FactError(error.message, hint=f"read, but unconfirmed: {names}: `kb facts accept {ids}`") from error

    def plan(
        self,
        task: Task,
        target: str,
        *,
        synthesizer: str = "tune",
        authors: Sequence[str] = (),
        budget: Budget | None = None,
        language: str | None = None,
        evaluations: int | None = None,
        seed: int = 0,
        control: bool = False,
        rules: str = "learnt",
        near_roof: float = 0.9,
        devices: str = "",
        pool: str = "",
    ) -> Plan:
        """A plan for `prompt` or `optimize`; see `Plan`.

        Args:
            synthesizer: `tune`, or `external` for a run that `prompt` starts.
            authors: Who writes the candidates instead, each as for `kb optimize --author`.
            budget: The most that they may spend. Without one, `optimize` refuses authors that cost money.
            language: Language of the candidates (default: the usual one for the target).
            evaluations: Most candidates to judge (default: 24 with authors, else 8).
            rules: Which rules the authors get: `none`, `learnt`, or as many at `random`.
            near_roof: Share of the reachable roof at which the run stops.
            devices: Those of this machine that judge at the same time (default: its first GPU, or its CPU), or `all`.
            pool: The Ray cluster that judges instead, which tunes nothing; `devices` are then those of each machine.

        Raises:
            RunError, CandidateError, TargetError: the synthesizer, language or target is unknown.
            SettingsError: no author has one of these names.
        """
        from kb.runs.journal import Plan, Rules, SynthesizerKind
        from kb.usecases.authors import chosen
        from kb.usecases.judging import must_be_known, written_in
        from synth.authors.spending import Budget
        from synth.search.moves import TUNED, WRITTEN

        specs = chosen(self.settings, authors).specs if authors else ()
        kind = SynthesizerKind.AUTHORS if specs else SynthesizerKind.named(synthesizer)
        if language or kind is SynthesizerKind.EXTERNAL:
            written = written_in(self, target, language)
            must_be_known(self, target, written)
            if language not in (None, written.name):
                self.notify(f"the language {language} is called {written.name} here")
            language = written.name
        else:
            language = next(iter(self.toolchains.judges(target)))
        return Plan(
            task=task, target=target, language=language, synthesizer=kind, authors=tuple(map(str, specs)),
            budget=budget or Budget(), seed=seed, control=control,
            evaluations=evaluations or (WRITTEN if kind is SynthesizerKind.AUTHORS else TUNED),
            rules=Rules(rules), near_roof=near_roof, devices=devices, pool=pool, without=("tuner",) if pool else (),
        )  # fmt: skip

    def prompt(self, plan: Plan, *, device: str | None = None) -> tuple[Run, Prompt]:
        """Start a run that `submit` drives, and return its first prompt.

        Args:
            device: The chip on which the candidates will be judged, if not as on this machine.

        Raises: As `optimize`.
            TargetError: `device` is unknown, or kernels for the target do not run there.
            SettingsError: the home's questions.toml is not right.
        """
        from kb.usecases.running import prompt

        return prompt(self, plan, device=device)

    def next_prompt(self, run: Run) -> Prompt:
        """The prompt that a run by hand waits to have answered, again. It costs nothing, and nothing is written.

        Raises:
            RunError: the run is over, or not driven by hand, or the task's code would have to run.
            SynthesisError: the prompt does not fit its budget.
        """
        from kb.usecases.running import next_prompt

        return next_prompt(self, run)

    def stage_prompt(self, plan: Plan, stage: Stage, *, device: str | None = None) -> Prompt:
        """The prompt of a stage for the attempts of the newest run with the plan's task, target and language.

        No run is started. Arguments as in `prompt`.

        Raises: As `prompt`.
            RunError: no such run has attempts, and the stage needs some.
        """
        from kb.usecases.running import stage_prompt

        return stage_prompt(self, plan, stage, device=device)

    def draft_prompt(
        self, plan: Plan, interface: Interface, *, budget_tokens: int, device: str | None = None
    ) -> Prompt:
        """The first prompt of such a run, which is not started: the caller states the task's interface, no code runs.

        Args:
            budget_tokens: Most tokens of the prompt, beside the task's source and the kernels that it shows.
            device: As in `prompt`.

        Raises: As `optimize`.
            SynthesisError: task, contract and answer format alone exceed the budget.
        """
        from kb.usecases.running import draft_prompt

        return draft_prompt(self, plan, interface, budget_tokens=budget_tokens, device=device)

    def submit(
        self,
        run: Run,
        answer: Candidate | str,
        *,
        note: str = "",
        tune: bool = False,
        on_attempt: OnAttempt | None = None,
    ) -> Submission:
        """Judge an answer to the last prompt, save a winning kernel as a skill, and build the next prompt.

        Args:
            answer: A kernel, or a model's whole answer.
            note: One line that describes the kernel or the change (default: taken from the answer).
            tune: Search the values of its parameters, too.
            on_attempt: Called with each judged candidate.

        Raises: As `Loop.submit` and `verify`.
            SynthesisError: no kernel can be read from the answer.
        """
        from kb.usecases.running import submit

        return submit(self, run, answer, note=note, tune=tune, on_attempt=on_attempt)

    def optimize(self, plan: Plan, *, minutes: float | None = None, on_start: OnStart | None = None) -> Run:
        """Start a run of authors or the tuner and drive it to its end. A bad plan is refused before a judge starts.

        `on_start` gets the run when it starts, and returns the function to call with each judged candidate.

        Raises: As `verify` and `Loop.optimize`.
            RunError, CandidateError, FactError, SettingsError: the plan cannot work; see `kb.usecases.running`.
        """
        from kb.usecases.running import optimize

        return optimize(self, plan, minutes=minutes, on_start=on_start)

    def resume(
        self, run: Run, *, minutes: float | None = None, on_start: OnStart | None = None,
        devices: str = "", pool: str = "",
    ) -> None:  # fmt: skip
        """Continue a run that `optimize` started, on the same devices or others of their kind. Errors as there."""
        from kb.usecases.running import resume

        resume(self, run, minutes=minutes, on_start=on_start, devices=devices, pool=pool)
