"""One run: retrieve → propose → judge → diagnose, again and again; what won is written back as a skill."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kb.errors import RunError
from kb.evidence import Evidence
from kb.kernels import Candidate, Interface, Task, digest_of
from kb.model import Fact, Passage
from kb.protocols import Attempt, Judge, Proposal, Request, Synthesizer
from kb.runs import Entry, Run
from kb.skill import Skill, Standing
from kb.skillbook import Skillbook, skill_of_win
from synth.diagnosis import search_phrases
from synth.prompt import Prompt, build_prompt

SKILLS_CONSIDERED = 8
FIRST_PHRASES = ("tuning guidance for kernels", "memory hierarchy, coalesced wide loads, occupancy")
"""What a first prompt asks the manuals, before there is a diagnosis to ask with."""

Tell = Callable[[int, Attempt], None]
"""Is told of each judged candidate and its number."""

Brief = Callable[[Sequence[str]], tuple[list[Fact], list[Passage]]]
"""Phrasings → what the target's documents say: facts, and passages best first."""


def say_nothing(step: int, attempt: Attempt) -> None:
    """For who does not want to be told."""


@dataclass(frozen=True)
class Loop:
    """What a run works with."""

    run: Run
    skillbook: Skillbook
    scope: frozenset[str]
    """Targets whose skills may be used."""
    brief: Brief
    tell: Tell

    def optimize(self, synthesizer: Synthesizer, judge: Judge, *, minutes: float | None = None) -> None:
        """Go on until the evaluations are spent, the synthesizer has nothing left, or the time is up.

        After the time is up, a kill, or an error of synthesizer or judge, the same call goes on where this one stopped.

        Raises:
            RunError: the run is over, or another process holds it.
            SynthesisError: the synthesizer cannot give a candidate.
            JudgeError: the judge is at fault.
        """
        deadline = time.monotonic() + minutes * 60 if minutes is not None else None
        with self.run.held():
            self._must_be_open()
            reason = "all evaluations are spent"
            while self.run.step <= self.run.plan.evaluations:
                if deadline is not None and time.monotonic() > deadline:
                    return
                proposal = self.run.pending or synthesizer.propose(self.request(judge.interface))
                if proposal is None:
                    reason = f"{synthesizer.name} has nothing left to try"
                    break
                self._judge(proposal, judge)
            self._end(reason, judge.interface)

    def prompt(self, interface: Interface) -> Prompt:
        """What to ask for next; also written to the run's folder."""
        prompt = build_prompt(self.request(interface))
        with self.run.held():
            self._must_be_open()
            self.run.write(f"prompts/{self.run.step:03d}.md", prompt.text)
            if not self.run.asked:
                self.run.append(Entry(kind="asked", step=self.run.step, text=digest_of(prompt.text)))
        return prompt

    def submit(self, candidate: Candidate, judge: Judge, *, note: str = "") -> Evidence:
        """Judge a candidate that somebody hands in, and write it back if it is the run's best and wins.

        Raises:
            RunError: the run is over or held, or this candidate was judged in it already.
        """
        with self.run.held():
            self._must_be_open()
            if self.run.pending and self.run.pending.candidate.digest != candidate.digest:
                self._judge(self.run.pending, judge)
            for step, attempt in enumerate(self.run.attempts, start=1):
                if attempt.candidate.digest == candidate.digest:
                    raise RunError(
                        f"this candidate was judged already, as number {step}: {attempt.evidence.outcome}",
                        hint="change it and submit it again",
                    )
            evidence = self._judge(self.run.pending or Proposal(candidate=candidate, note=note), judge)
            best = self.run.best
            if evidence.won and best and best.evidence.id == evidence.id:
                self._publish(best, judge.interface)
            if self.run.step > self.run.plan.evaluations:
                self.run.append(Entry(kind="ended", step=self.run.step, text="all evaluations are spent"))
        return evidence

    def request(self, interface: Interface) -> Request:
        """All that is known before the next candidate."""
        plan, attempts = self.run.plan, self.run.attempts
        diagnosis = search_phrases(attempts[-1].evidence) if attempts else ()
        facts, passages = self.brief([task_words(plan.task), *(diagnosis or FIRST_PHRASES)])
        skills = self.skillbook.search(task_words(plan.task), scope=self.scope, language=plan.language)
        if plan.control:
            skills = [skill for skill in skills if skill.standing is Standing.HYPOTHESIS]
        return Request(
            task=plan.task,
            interface=interface,
            target=plan.target,
            language=plan.language,
            facts=tuple(facts),
            passages=tuple(passages),
            skills=tuple(skills[:SKILLS_CONSIDERED]),
            attempts=attempts,
            seed=plan.seed,
        )

    def _must_be_open(self) -> None:
        if self.run.ended:
            raise RunError(f"run {self.run.id} is over: {self.run.ended}", hint="start another one")

    def _judge(self, proposal: Proposal, judge: Judge) -> Evidence:
        """The verdict on a proposal; that of an earlier attempt where it is the same candidate."""
        step, candidate = self.run.step, proposal.candidate
        if self.run.pending is None:
            self.run.write(f"candidates/{step:03d}{candidate.language.suffix}", candidate.source)
            self.run.append(Entry(kind="proposed", step=step, proposal=proposal))
        same = (a.evidence for a in self.run.attempts if a.candidate.digest == candidate.digest)
        evidence = next(same, None) or judge.verify(candidate)
        self.run.append(Entry(kind="judged", step=step, evidence=evidence))
        self.tell(step, Attempt(candidate=candidate, evidence=evidence, note=proposal.note))
        return evidence

    def _end(self, reason: str, interface: Interface) -> None:
        best = self.run.best
        if best and best.evidence.won and not self.run.published and not self.run.plan.control:
            self._publish(best, interface)
        self.run.append(Entry(kind="ended", step=self.run.step, text=reason))

    def _publish(self, best: Attempt, interface: Interface) -> None:
        others = [a for a in self.run.attempts if a.candidate.digest != best.candidate.digest]
        skill = self.skillbook.publish(
            skill_of_win(
                self.run.plan.task,
                best.candidate,
                best.evidence,
                note=best.note,
                failed=others,
                interface=interface,
                parent=self._parent(best.candidate),
            )
        )
        self.run.append(Entry(kind="published", step=self.run.step, text=skill.name))


    def _parent(self, candidate: Candidate) -> Skill | None:
        """The skill that holds this kernel, perhaps with other parameters; the shortest name where there are more."""
        same = [s for s in self.skillbook.skills() if s.candidate.template_digest == candidate.template_digest]
        return min(same, key=lambda skill: len(skill.name), default=None)


def task_words(task: Task) -> str:
    """A task's name and the first line of its first docstring: what it is about, in words."""
    docstring = re.search(r'"""\s*(.+)', task.source)
    return f"{task.name.replace('-', ' ')} {docstring[1].strip(chr(34)) if docstring else ''}".strip()
