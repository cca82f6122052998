"""The rules for a candidate, in words for a model or a person."""

from kb.types.evidence import WIN_MARGIN, WIN_SESSIONS
from kb.types.kernels import Interface, Language
from synth.prompts.render import render


def contract(interface: Interface, language: Language) -> str:
    """The tensors of the task, the rules of the language, and how the judge decides."""
    return render(
        "contract",
        interface=interface,
        numbers=[_number(value) for value in interface.init],
        language=language,
        win_sessions=WIN_SESSIONS,
        win_margin=WIN_MARGIN,
    )


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
