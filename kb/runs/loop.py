"""The loop of one run: what `synth.search` decides is done, until it stops. A win is published as a skill."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import inf

from kb.errors import RunError, StoreError
from kb.runs.entries import JournalEntry
from kb.runs.journal import Run, SynthesizerKind
from kb.runs.publish import write_back
from kb.runs.question import Question, answer_of, over_budget, written
from kb.runs.rules import rules_for
from kb.runs.skills import fitting_skills, need_of
from kb.skillbook.library import Skillbook
from kb.types.briefing import Briefing
from kb.types.campaign import Amounts
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface, Language
from kb.types.protocols import Attempt, Judge, JudgesAhead, Proposal, RecalledSkill, Request, Stage, Tried
from kb.types.terms import Terms
from synth.authors.author import AuthorError
from synth.authors.synthesizer import Synthesizer
from synth.briefing.follow_up import refused_names
from synth.prompts.attempts import stage_of
from synth.prompts.diagnosis import diagnosis_of
from synth.prompts.prompt import SKILLS, Prompt, build_prompt
from synth.search.moves import Ask, Measure, State, Stop, Submit, ask_ahead, next_moves, next_question, tuning

SPENT = "all evaluations are spent"
NO_LIMIT = Amounts()
OnAttempt = Callable[[int, Attempt], None]
"""Called with each judged candidate and its number."""

OnStart = Callable[[Run], OnAttempt]
"""Called with a run when it starts or resumes."""

Brief = Callable[[Interface, tuple[Attempt, ...], Stage, tuple[RecalledSkill, ...]], tuple[Briefing, Terms]]
"""Takes the task's tensors, the attempts, what the next one is for, and the skills; returns what the prompt says of the
hardware and of the judge."""


def ignore(step: int, attempt: Attempt) -> None:
    """The `OnAttempt` that does nothing."""


@dataclass(frozen=True)
class Loop:
    """A run with everything it needs to continue."""

    run: Run
    language: Language
    """Language of the run's plan."""
    skillbook: Skillbook
    scope: frozenset[str]
    """Targets whose skills may be used."""
    siblings: frozenset[str]
    """Targets whose skills are shown without their kernels."""
    brief: Brief
    on_attempt: OnAttempt
    prompt_tokens: int
    """Most tokens of a prompt."""

    def optimize(
        self, synthesizer: Synthesizer | None, judge: Judge, *, minutes: float | None = None, share: Amounts = NO_LIMIT
    ) -> None:
        """Continue until the evaluations are spent, the search stops, or the time is up.

        After a pause, a timeout, a kill, or an error, the same call continues where this one stopped.

        Args:
            synthesizer: Writes kernels; without it they come from skills.
            share: Verdicts and the judge's minutes, in all, after which the run pauses.

        Raises:
            RunError: the run is over, or another process holds it.
            SynthesisError: the synthesizer failed to write a candidate.
            JudgeError: the judge is at fault.
        """
        deadline = time.monotonic() + minutes * 60 if minutes is not None else inf
        most_s = share.minutes * 60 if share.minutes is not None else inf
        most = min(self.run.plan.evaluations, inf if share.evaluations is None else share.evaluations)
        with self.run.held():
            self.run.must_be_open()
            try:
                reason = self._search(
                    synthesizer, judge, most, lambda: time.monotonic() > deadline or self.run.judged_s >= most_s
                )
            except StoreError:  # the home takes no skill now; the next start writes what the run has won
                raise
            except BaseException:
                self._write_back(judge.interface)
                raise
            self._write_back(judge.interface)
            if reason:
                self._end(reason)

    def _search(self, synthesizer: Synthesizer | None, judge: Judge, most: float, is_late: Callable[[], bool]) -> str:
        """Returns why the run is finished; empty if it only pauses, after `most` verdicts or late."""
        skills = () if synthesizer else self._skills(judge.interface)
        questions, over, ahead = list[Question](), "", judge if isinstance(judge, JudgesAhead) else None
        with ExitStack() as open_questions:
            while self.run.step <= most and not is_late():
                while synthesizer and not over and (asked := self._ahead(synthesizer, judge, questions, most)):
                    questions.append(asked)
                    open_questions.push(asked.finish)  # the answer is paid, and is recorded while the run is held
                if self.run.pending:
                    if ahead and ahead.in_rounds:
                        for question in questions:
                            question.finish()
                    self._judge(self.run.pending, judge)
                    continue
                state = state_of(self.run, skills, [one.ask for one in questions])
                moves = next_moves(state, writes=synthesizer is not None, most=ahead.settings_at_once if ahead else 1)
                if steps := [move for move in moves if isinstance(move, Measure | Submit)]:
                    self._take_steps(steps, judge, most)
                elif questions:
                    try:
                        self._propose(answer_of(questions.pop(0), questions))
                    except AuthorError as error:
                        if not (over := over_budget(error)):
                            break
                elif over:
                    return over
                elif stops := [move for move in moves if isinstance(move, Stop)]:
                    return stops[0].reason
        if self.run.step > self.run.plan.evaluations:
            return SPENT
        for question in questions:
            question.must_not_have_failed()
        return ""

    def _ahead(
        self, synthesizer: Synthesizer, judge: Judge, questions: Sequence[Question], most: float
    ) -> Question | None:
        """The next question, while others are asked; first those that a kill cut off. None if nothing can be asked."""
        if any(question.error for question in questions):
            return None
        state = state_of(self.run, asked=[one.ask for one in questions])
        number = 1 + max(written(self.run), default=0) + len(questions)
        ask = self.run.asked.get(number) or ask_ahead(state, most - len(self.run.attempts))
        return self._question(synthesizer, judge.interface, ask, number, judge) if ask else None

    def _question(
        self, synthesizer: Synthesizer, interface: Interface, ask: Ask, number: int, judge: Judge | None = None
    ) -> Question:
        prompt = self.run.prompt(number) if number in self.run.asked else None
        if not prompt:
            prompt = build_prompt(self.request(interface, ask))
            self.run.keep_prompt(prompt, number)
        begin = partial(self._expect, judge) if isinstance(judge, JudgesAhead) else None
        return Question(self.run, number, ask, synthesizer, prompt, begin)

    def _expect(self, judge: JudgesAhead, answered: Candidate) -> None:
        """Let the judge begin with an answer, unless its verdict is known."""
        if not self.run.verdicts(candidate := self.same_program(answered)):
            judge.expect(candidate)

    def ask(self, synthesizer: Synthesizer, interface: Interface) -> Question | None:
        """Ask for the next candidate, of which another machine gives the verdict; None if none is wanted now.

        Settings are not tuned: that takes a device. Call it, and then `keep`, while the run is held.
        """
        if self.run.pending or self.run.ended:
            return None
        number = 1 + max(written(self.run), default=0)
        move = self.run.asked.get(number) or next_question(state_of(self.run))
        reason = SPENT if self.run.step > self.run.plan.evaluations else move.reason if isinstance(move, Stop) else ""
        if reason:
            self._end(reason)
        return self._question(synthesizer, interface, move, number) if isinstance(move, Ask) and not reason else None

    def keep(self, question: Question) -> None:
        """Record the answer to a question as the candidate that waits for its verdict.

        Raises:
            AuthorError: there is none, for another reason than the budget, which ends the run.
        """
        try:
            self._judge(question.wait(), None)
        except AuthorError as error:
            if reason := over_budget(error):
                self._end(reason)

    def _take_steps(self, steps: Sequence[Measure | Submit], judge: Judge, most: float) -> None:
        """Take steps of which none depends on another, at the same time if the judge can."""
        if isinstance(judge, JudgesAhead):
            for step in steps:
                judge.expect(step.candidate, estimate=isinstance(step, Measure))
        for step in steps:
            if self.run.step <= most:
                self._take_step(step, judge)

    def _take_step(self, step: Measure | Submit, judge: Judge) -> None:
        """Time a setting, or judge a kernel."""
        if isinstance(step, Submit):
            self._judge(step.proposal, judge)
        else:
            self.run.append(JournalEntry(kind="tried", step=self.run.step, tried=Tried.by(judge, step.candidate)))

    def prompt(self, interface: Interface) -> Prompt:
        """The next prompt, which is also written to the run's folder.

        Raises:
            RunError: the run is over, held by another process, or not driven by hand.
            SynthesisError: the prompt does not fit its budget.
        """
        with self.run.held():
            self._must_want_an_answer()
            prompt = build_prompt(self.request(interface))
            self.run.keep_prompt(prompt, 1 + sum(not attempt.is_tuned for attempt in self.run.attempts))
        return prompt

    def submit(self, candidate: Candidate, judge: Judge, *, note: str = "", tune: bool = False) -> Evidence:
        """Judge a submitted candidate, and publish it as a skill if it is the run's best and wins.

        It replaces an earlier submission that was never judged because of a kill or a fault of the judge. One whose
        times were disturbed by other work is judged again, also after the run is over, and counts once.

        Args:
            tune: Search the values of its parameters, too, and go on with that if it was judged before.

        Raises:
            RunError: the run is over, held or not driven by hand, or it has already judged this candidate.
            CandidateError: it is in another language than the run.
            JudgeError: the judge is at fault.
        """
        self.run.must_take(candidate := self.same_program(candidate))
        with self.run.held():
            known, before = next(iter(self.run.verdicts(candidate).items()), (0, None))
            if before is None or not before.disturbed:
                self._must_want_an_answer()
            self._write_back(judge.interface)
            if before and before.disturbed:
                self.run.append(JournalEntry(kind="judged", step=known, evidence=judge.verify(candidate)))
            elif before and not tune:
                told = f"this candidate was already judged, as candidate {known}: {before.outcome}"
                raise RunError(told, hint="change it and submit it again")
            if not known:
                known = self.run.step
                self._judge(self._by_hand(candidate, note, judge.interface), judge)
            while tune and self.run.step <= self.run.plan.evaluations and (steps := tuning(state_of(self.run))):
                self._take_step(steps[0], judge)
            self._write_back(judge.interface)
            if self.run.step > self.run.plan.evaluations and not self.run.ended:
                self._end(SPENT)
        return self.run.attempts[known - 1].evidence

    def _by_hand(self, candidate: Candidate, note: str, interface: Interface) -> Proposal:
        """The answer to the last prompt, with what that asked for and had."""
        attempts = self.run.attempts
        stage = stage_of(attempts)
        recalled = (*self._skills(interface)[:SKILLS], *self._rules(stage))
        return Proposal(
            candidate=candidate,
            note=note,
            skills_used=tuple(one.skill.name for one in recalled),
            stage=stage,
            parent=len(attempts) if stage in (Stage.FIX, Stage.IMPROVE) else 0,
        )

    def take(
        self, verdicts: Iterable[tuple[Proposal, Evidence]], interface: Interface, *, batch: str,
        tried: Iterable[Tried] = (),
    ) -> int:  # fmt: skip
        """Record what a batch brings, each once, and publish the run's best if it wins. The run may be over.

        A candidate that was timed or refused before keeps its verdict, and a setting its time.

        Returns:
            How many attempts have a verdict now that they did not have.

        Raises:
            RunError: the run is held, or a candidate is not in it and another one waits for its verdict.
        """
        new = 0
        with self.run.held():
            try:
                for proposal, evidence in verdicts:
                    for step in self._untimed_steps(proposal, evidence):
                        self.run.append(JournalEntry(kind="judged", step=step, evidence=evidence, text=batch))
                        new += 1
                for one in tried:
                    if all((old.template, old.values) != (one.template, one.values) for old in self.run.tried):
                        self.run.append(JournalEntry(kind="tried", step=self.run.step, tried=one))
            finally:
                self._write_back(interface)
            if self.run.step > self.run.plan.evaluations and not self.run.ended:
                self._end(SPENT)
        return new

    def _untimed_steps(self, proposal: Proposal, evidence: Evidence) -> list[int]:
        """The numbers of attempts with this candidate that lack a time, and this evidence; a new one if it is new."""
        pending = self.run.pending
        if known := self.run.verdicts(proposal.candidate):
            return [step for step, before in known.items() if before.untimed and before != evidence]
        if proposal.is_tuned and self.run.evaluations_left < 1:
            return []  # what a batch tuned while others spent them
        if pending and pending.candidate.digest != proposal.candidate.digest:
            hint = "continue the run until that candidate is judged, and take the batch again"
            raise RunError(f"another candidate of run {self.run.id} waits for its verdict", hint=hint)
        return [self._propose(proposal)]

    def request(self, interface: Interface, ask: Ask | None = None) -> Request:
        """What an author is told who is asked for a candidate (default: for what follows from the attempts)."""
        plan, attempts, skills = self.run.plan, self.run.attempts, self._skills(interface)
        ask = ask or Ask(stage=stage_of(attempts))
        if not plan.documents:  # their rates say what limits a kernel
            attempts = tuple(_without_limit(one) for one in attempts)
        briefing, terms = self.brief(interface, attempts[: ask.base or None], ask.stage, skills)
        is_searched = plan.synthesizer is SynthesizerKind.AUTHORS and plan.search == "two-level"
        language = self.language.model_copy(update={"tunable": ""} if "tuner" in plan.without else None)
        return Request(
            task=plan.task, interface=interface, target=plan.target, language=language, terms=terms, **vars(ask),
            is_searched=is_searched, is_diagnosed="diagnosis" not in plan.without, briefing=briefing, skills=skills,
            rules=self._rules(ask.stage, ask.base), attempts=attempts, tried=self.run.tried,
            begun=tuple(one.structure for one in self.run.asked.values() if one.structure),
            budget_tokens=self.prompt_tokens, seed=plan.seed,
        )  # fmt: skip

    @property
    def _diagnosis(self) -> tuple[str, ...]:
        """Phrasings for what the last candidate lacked."""
        if not self.run.attempts or "diagnosis" in self.run.plan.without:
            return ()
        last = self.run.attempts[-1]
        searched = (phrase for rule in diagnosis_of(last.evidence).rules for phrase in rule.search)
        return (*refused_names(last.evidence, last.candidate.source), *searched)

    def _skills(self, interface: Interface) -> tuple[RecalledSkill, ...]:
        need = need_of(self.run.plan, interface, self.scope, self.siblings, self._diagnosis)
        return fitting_skills(self.skillbook, self.run.plan, need)

    def _rules(self, stage: Stage, base: int = 0) -> tuple[RecalledSkill, ...]:
        return rules_for(self.skillbook, self.run.plan, self.run.attempts, stage, base, self.scope)

    def _must_want_an_answer(self) -> None:
        self.run.must_be_open()
        self.run.must_be_by_hand()
        if self.run.step > self.run.plan.evaluations:
            self._end(SPENT)
            self.run.must_be_open()

    def _judge(self, proposal: Proposal, judge: Judge | None) -> None:
        """Judge a proposal and record the verdict; an identical earlier candidate's verdict is reused.

        Without a judge, a new candidate waits for its verdict.
        """
        candidate = self.same_program(proposal.candidate)
        step = self._propose(proposal.model_copy(update={"candidate": candidate}))
        if evidence := next(iter(self.run.verdicts(candidate).values()), None) or (judge and judge.verify(candidate)):
            self.run.append(JournalEntry(kind="judged", step=step, evidence=evidence))
            self.on_attempt(step, self.run.attempts[-1])

    def same_program(self, candidate: Candidate) -> Candidate:
        """The first judged candidate that differs only in comments, else this one: a comment buys no other verdict."""
        judged = (attempt.candidate for attempt in self.run.attempts)
        return next((one for one in judged if one.program_digest == candidate.program_digest), candidate)

    def _propose(self, proposal: Proposal) -> int:
        """Record a proposal in place of a pending one; return its number."""
        proposal = proposal.model_copy(update={"recalled": self._recalled(proposal)})
        if self.run.pending != proposal:
            self.run.write(f"candidates/{self.run.step:03d}{self.language.suffix}", proposal.candidate.source)
            self.run.append(JournalEntry(kind="proposed", step=self.run.step, proposal=proposal))
        return self.run.step

    def _recalled(self, proposal: Proposal) -> str:
        """Name of the skill that a proposal was made from and whose kernel it is; empty if it is none."""
        used = (skill for skill in self.skillbook.skills() if skill.name in proposal.skills_used)
        return next((skill.name for skill in used if skill.candidate == proposal.candidate), "")

    def _end(self, reason: str) -> None:
        self.run.append(JournalEntry(kind="ended", step=self.run.step, text=reason))

    def _write_back(self, interface: Interface) -> None:
        write_back(self.run, self.skillbook, self.language, self.scope, interface)


def state_of(run: Run, skills: tuple[RecalledSkill, ...] = (), asked: Sequence[Ask] = ()) -> State:
    """What the next move of a run follows from.

    Args:
        skills: Those that it may start from, if nobody writes kernels.
        asked: What was asked and led to no candidate yet, in order.
    """
    plan, passed = run.plan, [attempt.evidence for attempt in run.attempts if attempt.evidence.passed]
    return State(
        language=plan.language, attempts=run.attempts, pending=(run.pending,) if run.pending else (),
        asked=tuple(asked), tried=run.tried, skills=skills,
        nothing_to_mend=bool(passed) and not diagnosis_of(passed[-1]).rules,
        seed=plan.seed, search=plan.search, without=plan.without, near_roof=plan.near_roof,
    )  # fmt: skip


def _without_limit(attempt: Attempt) -> Attempt:
    return attempt.model_copy(update={"evidence": attempt.evidence.model_copy(update={"bottleneck": None})})
