"""What is decided before a run starts: a plan that can work, and who proposes its candidates."""

from typing import TYPE_CHECKING

from eval.devices.registry import device_for
from kb.errors import CandidateError, FactError, RunError, SettingsError
from kb.model.protocols import Synthesizer
from kb.runs.journal import Plan, SynthesizerKind
from kb.targets import ROOT
from synth.anthropic import AnthropicModel
from synth.chat import ChatModel
from synth.model_synthesizer import ModelSynthesizer
from synth.tune import TuneSynthesizer

if TYPE_CHECKING:
    from kb.home.knowledge_base import KnowledgeBase


def checked(kb: "KnowledgeBase", plan: Plan) -> Plan:
    """The plan, its target by name. A language model or a person is asked only about what documents speak of.

    Raises:
        TargetError: the target is unknown.
        CandidateError: kernels for it are not written in that language.
        FactError: no document speaks of it, and the synthesizer would have to guess.
        SettingsError: a model is to be asked and none is named.
    """
    plan = plan.model_copy(update={"target": kb.targets.get(plan.target).name})
    if plan.language not in (fitting := languages(kb, plan.target)):
        raise CandidateError(
            f"kernels for {plan.target} are not written in {plan.language}", hint=f"write {' or '.join(fitting)}"
        )
    if plan.synthesizer is SynthesizerKind.ANTHROPIC:
        chat_model(plan.model)
    if plan.synthesizer is not SynthesizerKind.TUNE:
        kb.ensure_sheets(plan.target)
        if not kb.catalog.count_by_target().keys() & (kb.targets.scope(plan.target) - {ROOT}):
            raise FactError(
                f"no document speaks of {plan.target}, so nobody could know how to write a kernel for it",
                hint=f"`kb ingest` its manuals, with --target {plan.target} where no folder is named so",
            )
    return plan


def languages(kb: "KnowledgeBase", target: str) -> tuple[str, ...]:
    """The languages in which kernels for a target may be written, by name, the usual one first.

    Raises:
        JudgeError: nothing can be judged for the target.
    """
    return device_for(kb.targets.isa(target), target).languages


def synthesizer_of(plan: Plan) -> Synthesizer:
    """Raises RunError when the candidates come from a person or an agent, through `KnowledgeBase.submit`."""
    if plan.synthesizer is SynthesizerKind.TUNE:
        return TuneSynthesizer()
    if plan.synthesizer is SynthesizerKind.ANTHROPIC:
        return ModelSynthesizer(chat_model(plan.model))
    raise RunError("this run is answered by hand", hint="`kb submit RUN FILE` judges an answer")


def must_be_by_hand(plan: Plan) -> None:
    """Raises RunError when candidates do not come from a person or an agent."""
    if plan.synthesizer is not SynthesizerKind.EXTERNAL:
        raise RunError(
            f"a run that is driven by {plan.synthesizer} has no prompts to answer",
            hint="`kb optimize` starts it, or plan one with the synthesizer `external`",
        )


def chat_model(name: str) -> ChatModel:
    """The language model of that name.

    Raises:
        SettingsError: no name is given.
    """
    if not name:
        raise SettingsError(
            "no model is named", hint="set KB_ANTHROPIC_MODEL, or anthropic_model in kb.toml of the home"
        )
    return AnthropicModel(name)
