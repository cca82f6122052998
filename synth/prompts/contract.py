"""The rules for a candidate, in words for a model or a person."""

from kb.types.kernels import Interface, Language, Task, workload_name
from kb.types.timing import LEAST_OF_WORKLOADS, WIN_MARGIN, WIN_SESSIONS
from synth.prompts.render import render


def contract(task: Task, interface: Interface, language: Language) -> str:
    """The tensors of the task, the rules of the language, and how the judge decides."""
    return render(
        "contract",
        precision=task.precision,
        workloads=[workload_name(workload) for workload in task.workloads],
        interface=interface,
        numbers=[_number(value) for value in interface.init],
        language=language,
        win_sessions=WIN_SESSIONS,
        win_margin=WIN_MARGIN,
        least_of_workloads=LEAST_OF_WORKLOADS,
    )


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
