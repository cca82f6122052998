"""The judge of a run, on the devices that its plan names: of this machine, or of a cluster."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from eval.batch.in_rounds import JudgesInRounds
from eval.devices.registry import timed_languages
from eval.judge.driver import LocalJudge
from eval.machine import machine_kind
from eval.pool.ahead import JudgesOnCards
from eval.pool.cards import Card, chosen_cards, of_one_kind
from kb.errors import JudgeError, MissingLibraryError, is_installed
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.types.kernels import Candidate
from kb.types.protocols import Judge, Proposal
from kb.usecases.home import Home
from kb.usecases.judging import interface_of, judge_for, judges_for, stay_of
from kb.usecases.packing import entry_of, pack, timed_on


def must_have_devices(home: Home, plan: Plan) -> None:
    """Refuse a plan whose devices cannot judge its kernels.

    Raises:
        BatchError: this machine has no such device.
        JudgeError: devices of a target's kind do not time its kernels, or nobody writes kernels for a pool.
        MissingLibraryError: the pool's library is not installed.
    """
    if not (plan.devices or plan.pool):
        return
    out = "leave --devices and --pool out; if KB_POOL is set, add --pool ''"
    if plan.language not in timed_languages(home.targets.isa(plan.target)):
        raise JudgeError(f"no device times {plan.language} kernels for {plan.target}", hint=out)
    if not plan.pool:
        _cards(home, plan, "")
    elif plan.synthesizer is not SynthesizerKind.AUTHORS:
        raise JudgeError("a pool judges what authors write, and tunes nothing", hint=f"name an --author, or {out}")
    elif not is_installed("ray"):
        raise MissingLibraryError("ray")


def judge_of(home: Home, plan: Plan, run: Run | None = None) -> AbstractContextManager[Judge]:
    """The judge of a run; without a run, of one that is not begun and is judged on this machine.

    Raises: As `LocalJudge` and `must_have_devices`.
    """
    if run and plan.pool:
        packed = run.folder / "batches", partial(_pack, home, run)
        return nullcontext(JudgesInRounds(interface_of(plan.task), *packed, home.notify, plan.devices, plan.pool))
    if not plan.devices:
        return judge_for(home, plan.task, plan.target, plan.language)
    cards = _cards(home, plan, timed_on(run) if run else "")
    home.notify(f"kb judges on {', '.join(map(str, cards))}")
    judge, first = judges_for(home, plan.task, plan.target, plan.language), cards[0].environment()

    def start(environment: Mapping[str, str]) -> LocalJudge:
        """One stays for the next command: there is one place for it."""
        stay = stay_of(home, environment) if environment == first else None
        return judge(environment=environment, stay=stay, toolchain=None)  # the first GPU may be of another kind

    return JudgesOnCards(start, cards, home.notify) if len(cards) > 1 else start(first)


def named_chip(home: Home, plan: Plan) -> str | None:
    """The chip that prompts name as what judges; None where it is this machine's CPU or first GPU: they describe it."""
    if plan.devices and not plan.pool:
        is_other = _cards(home, plan, "")[0].kind not in (machine_kind(), chosen_cards()[0].kind)
        return plan.target if is_other else None
    return plan.target if plan.pool else None


def _pack(home: Home, run: Run, folder: Path, candidates: Sequence[Candidate], known: str) -> None:
    pack(home, folder, [entry_of(run, Proposal(candidate=candidate), known) for candidate in candidates])


def _cards(home: Home, plan: Plan, known: str) -> list[Card]:
    """The devices that a plan names, of one kind."""
    isa = home.targets.isa(plan.target)
    return of_one_kind(chosen_cards(plan.devices), isa, plan.target, known) if isa else []
