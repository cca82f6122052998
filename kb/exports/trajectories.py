"""Runs as data to train on: attempts with prompts and rewards, preference pairs, and paths to the best kernel."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from kb.errors import CitationError, DocumentError
from kb.exports.attempts import Kept, best_of, path_to
from kb.exports.records import About, Named, Rewards, about, named, origin, rewards_of
from kb.types.base import Frozen
from kb.types.protocols import Stage
from kb.views.verdicts import Estimate
from synth.prompts.diagnosis import diagnose
from synth.prompts.prompt import ASKED, Prompt
from synth.prompts.render import fenced

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

_CITED = re.compile(r"\[\d+:[^\]\s]+\]")


class Message(Frozen):
    role: str
    """`system`, `user` or `assistant`."""
    content: str


class PassageCited(Frozen):
    """A fact or a passage that a prompt cites."""

    id: str
    document: str
    place: str
    licence: str
    """Of the document; empty if it states none."""
    sha256: str
    """Of the cited lines."""
    text: str
    """The cited lines; empty unless passages are exported."""


class AttemptRecord(About):
    attempt: int
    parent: int
    """Number of the attempt that it changes; 0 if there is none."""
    stage: str
    """What its author was asked for; empty for kernels of skills, of the tuner or by hand."""
    author: str
    model: str
    date: str
    """When it was judged, in UTC, ISO 8601."""
    messages: tuple[Message, ...]
    """The prompt; empty if nobody was asked."""
    passages: tuple[PassageCited, ...]
    licences: tuple[str, ...]
    """Of the documents that the prompt cites."""
    skills: tuple[str, ...]
    """Those in the prompt, or that its kernel is of."""
    answer: str
    """The whole reply; empty if it was not recorded."""
    note: str
    candidate: str
    settings: tuple[Named, ...]
    outcome: str
    verdict: str
    diagnosis: tuple[str, ...]
    rewards: Rewards
    time_us: float | None
    baseline: str
    grade: str
    environment: tuple[Named, ...]


class Preference(About):
    """Two attempts at one task. The prompt is the part that is the same for all attempts of the task."""

    prompt: tuple[Message, ...]
    chosen: tuple[Message, ...]
    rejected: tuple[Message, ...]
    why: str
    chosen_id: str
    rejected_id: str


class TraceRecord(About):
    """A conversation from the first draft to the best kernel of a run, without the attempts that led elsewhere."""

    messages: tuple[Message, ...]
    attempts: tuple[int, ...]
    speedup: float | None


def attempt_records(
    kb: "KnowledgeBase", kept: Sequence[Kept], held_out: frozenset[str], *, with_passages: bool
) -> list[AttemptRecord]:
    cite = _citations(kb, with_passages=with_passages)
    return [_record(one, held_out, cite, with_passages=with_passages) for one in kept]


def preferences(kept: Sequence[Kept], held_out: frozenset[str]) -> Iterator[Preference]:
    """Each attempt beside the one that it changes, and beside the best of its task, where one is surely better."""
    for same in _by_task(kept):
        best = best_of(same)
        seen = set[frozenset[str]]()
        for one in same:
            others = [*path_to(one, same)[-2:-1], *([best] if best else [])]
            for other in others:
                pair = _in_order(one, other)
                if pair and (ids := frozenset(each.id for each in pair[:2])) not in seen:
                    seen.add(ids)
                    better, worse, why = pair
                    yield Preference(
                        **about(better, held_out),
                        prompt=_task_prompt(better, same),
                        chosen=(_answer(better),),
                        rejected=(_answer(worse),),
                        why=why,
                        chosen_id=better.id,
                        rejected_id=worse.id,
                    )


def traces(kept: Sequence[Kept], held_out: frozenset[str]) -> Iterator[TraceRecord]:
    """One for each run in which a candidate passed."""
    for run in dict.fromkeys(one.run for one in kept):
        own = [one for one in kept if one.run is run]
        if (best := best_of(own)) is None:
            continue
        path = path_to(best, own)
        messages = [*_task_prompt(best, own), _answer(path[0])]
        for before, one in pairwise(path):
            messages += [_reply(before, one), _answer(one)]
        yield TraceRecord(
            **about(best, held_out),
            messages=tuple(messages),
            attempts=tuple(one.number for one in path),
            speedup=best.attempt.evidence.speedup,
        )


def without_passages(prompt: Prompt) -> str:
    """What is asked beside rules, task and contract, with the digest of the words of documents in their place.

    Values of facts stay: they are no one's text.
    """
    lines, inside = prompt.rest.split("\n"), False
    tokens = MarkdownIt().parse(prompt.rest)
    for token, inner in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and token.tag == "h2" and inner:
            inside = inner.content == "The hardware"
        if inside and token.type == "fence" and token.map:
            first, last = token.map[0] + 1, token.map[1] - 1
            kept = _facts_and_digests(lines[first:last])
            lines[first:last] = [*kept, *[""] * (last - first - len(kept))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _facts_and_digests(quoted: Sequence[str]) -> list[str]:
    """Facts are a line each, then come statements: a dash, words, their citation, and perhaps a listing."""
    first = next((n for n, line in enumerate(quoted) if line.startswith("- ")), len(quoted))
    said = "\n".join(quoted[first:])
    if not said:
        return list(quoted[:first])
    digest = sha256(said.encode()).hexdigest()
    return [*quoted[:first], f"- (words left out, SHA-256 {digest}) {' '.join(_CITED.findall(said))}"]


def _record(
    one: Kept, held_out: frozenset[str], cite: Callable[[str], PassageCited], *, with_passages: bool
) -> AttemptRecord:
    attempt, evidence, prompt = one.attempt, one.attempt.evidence, one.prompt
    passages = tuple(map(cite, prompt.cited)) if prompt else ()
    skills = (*attempt.skills_used, *(prompt.skills if prompt else ()), attempt.recalled)
    return AttemptRecord(
        **about(one, held_out),
        **origin(one),
        parent=attempt.parent,
        messages=_messages(prompt, with_passages=with_passages) if prompt else (),
        passages=passages,
        licences=tuple(sorted({passage.licence for passage in passages} - {""})),
        skills=tuple(dict.fromkeys(filter(None, skills))),
        answer=one.exchange.text if one.exchange else "",
        note=attempt.note,
        candidate=attempt.candidate.source,
        settings=tuple(Named(name=p.name, value=str(p.value)) for p in attempt.candidate.parameters),
        outcome=evidence.outcome,
        verdict=one.verdict.summary,
        diagnosis=diagnose(evidence),
        rewards=rewards_of(one),
        time_us=one.verdict.time_us.value if one.verdict.time_us else None,
        baseline=one.verdict.baseline,
        grade=evidence.grade or "",
        environment=named(evidence.environment),
    )


def _messages(prompt: Prompt, *, with_passages: bool) -> tuple[Message, ...]:
    rest = prompt.rest if with_passages else without_passages(prompt)
    asked = "\n\n".join(part for part in (prompt.stable, rest) if part)
    return Message(role="system", content=prompt.rules), Message(role="user", content=asked)


def _task_prompt(one: Kept, same: Sequence[Kept]) -> tuple[Message, ...]:
    """Rules, target, task and contract; the task alone if no prompt is kept."""
    found = [each for each in same if each.prompt]
    prompt = next((each.prompt for each in found if each.run is one.run), found[0].prompt if found else None)
    if prompt is None:
        plan = one.run.plan
        asked = f"Replace `Model` by a faster one, in {plan.language} for {plan.target}.\n\n"
        return (Message(role="user", content=asked + fenced(plan.task.source, "python")),)
    return Message(role="system", content=prompt.rules), Message(role="user", content=prompt.stable)


def _answer(one: Kept) -> Message:
    note = f"note: {one.attempt.note}\n\n" if one.attempt.note else ""
    return Message(role="assistant", content=note + fenced(one.attempt.candidate.source, one.tag))


def _reply(before: Kept, one: Kept) -> Message:
    """The verdict on an attempt, and what is asked next."""
    stage = one.attempt.stage or (Stage.IMPROVE if before.passed else Stage.FIX)
    found = "\n".join(f"- {sentence}" for sentence in diagnose(before.attempt.evidence))
    asked = ASKED[stage].format(attempt="this kernel")
    return Message(role="user", content=f"{before.verdict.summary}\n\n{found}\n\n{asked}".strip())


def _by_task(kept: Sequence[Kept]) -> Iterator[list[Kept]]:
    same: dict[tuple[str, str, str], list[Kept]] = {}
    for one in kept:
        plan = one.run.plan
        same.setdefault((plan.task.digest, plan.target, plan.language), []).append(one)
    yield from same.values()


def _in_order(one: Kept, other: Kept) -> tuple[Kept, Kept, str] | None:
    """The better one, the worse one and why; None if neither is surely better."""
    if one.passed != other.passed:
        better, worse = (one, other) if one.passed else (other, one)
        refused = worse.attempt.evidence.outcome.replace("_", " ")
        return better, worse, f"one passes, the other is refused: {refused}"
    times = one.verdict.time_us, other.verdict.time_us
    same_machine = one.attempt.evidence.environment == other.attempt.evidence.environment
    if not (one.passed and same_machine and times[0] and times[1]):
        return None
    (fast, better), (slow, worse) = _by_time((times[0], one), (times[1], other))
    return (better, worse, f"{slow.value / fast.value:.2f} times as fast") if fast.high < slow.low else None


def _by_time(*timed: tuple[Estimate, Kept]) -> list[tuple[Estimate, Kept]]:
    return sorted(timed, key=lambda pair: pair[0].value)


def _citations(kb: "KnowledgeBase", *, with_passages: bool) -> Callable[[str], PassageCited]:
    @cache
    def cite(id_: str) -> PassageCited:
        try:
            place = kb.documents.cite(id_, around=0)
            licence = kb.documents.get(place.citation.path).licence
        except (CitationError, DocumentError) as error:  # kept attempts cite what stands
            raise AssertionError(id_) from error
        text = "\n".join(line for _, line, _ in place.lines)
        return PassageCited(
            id=id_,
            document=place.citation.path,
            place=place.citation.place,
            licence=licence,
            sha256=sha256(text.encode()).hexdigest(),
            text=text if with_passages else "",
        )

    return cite
