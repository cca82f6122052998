"""The rules for a candidate, in words for a model or a person."""

from kb.types.evidence import WIN_MARGIN, WIN_SESSIONS
from kb.types.kernels import Interface, Language, TensorSpec

JUDGING = f"""\
How the judge decides:
- Correctness comes first. Outputs are compared with the reference computed in 64-bit floating point, with other values
  (both signs, several orders of magnitude), other sizes (including odd ones) and other parameters than in the task's
  file. The error allowed is a few times that of the reference in its own precision: sum in at least that precision.
- Every call counts. The candidate is called again with other values in the same memory. It is refused if it returns an
  answer kept from an earlier call, writes to an input, or finishes an output after the call has returned.
- Then comes speed, if the judge has the target: the candidate is timed from outside, alternating with the fastest of
  PyTorch's eager mode and its compiled modes. For a win, the lower end of the 95 % interval of the speed-up over
  {WIN_SESSIONS} or more sessions must be above {WIN_MARGIN}.
- Without the target, the judge runs the candidate in a simulator, or only compiles it and compares the result with the
  limits in the target's documents (registers, spills, scratchpad, instructions used). Neither says how fast it is.
- The judge ignores whatever the candidate prints, measures or claims. The candidate has no network and no files except
  its own."""

_TUNING = """\
Declare each tunable constant on a line of its own, starting in the first column, at the top level of the file:
`{example}`
The number is the value in use; the choices after `tune:` are whole numbers. Every combination must be correct."""


def contract(interface: Interface, language: Language) -> str:
    """The tensors of the task, the rules of the language, and how the judge decides."""
    tuning = _TUNING.format(example=language.tunable) if language.tunable else ""
    judging = JUDGING if language.judged else ""
    return "\n\n".join(filter(None, (_described(interface), language.rules, tuning, judging)))


def _described(interface: Interface) -> str:
    return "\n".join(
        (
            "At the sizes of the task's file:",
            *_listed("Inputs of one call", interface.inputs),
            *_listed("State: parameters and buffers of `Model`", interface.state),
            *_listed("Outputs", interface.outputs),
            f"- Numbers given to `Model(...)`: {', '.join(map(_number, interface.init)) or 'none'}.",
        )
    )


def _listed(title: str, tensors: tuple[TensorSpec, ...]) -> list[str]:
    if not tensors:
        return [f"- {title}: none."]
    return [f"- {title}, in order:", *(f"  {i}. `{tensor}`" for i, tensor in enumerate(tensors))]


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
