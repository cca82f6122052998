"""What a candidate must be, language by language, in words that a model or a person can follow."""

from kb.model.evidence import WIN_MARGIN, WIN_SESSIONS
from kb.model.kernels import Interface, Language, TensorSpec

JUDGING = f"""\
How the judge decides:
- Correct first. Outputs are compared with the reference computed in 64-bit floating point, on other values (both signs,
  several orders of magnitude) and at other sizes (odd ones too) than the task's file gives, and with other parameters.
  The error allowed is a few times that of the reference in its own precision: sum in at least that precision.
- Every call counts. The candidate is called again with other values in the same memory: an answer kept from an earlier
  call, an input written to, or an output that is finished after the call has returned, each refuse it.
- Then speed, if the judge has the target: timed from outside, in turn with the fastest of PyTorch's eager mode and its
  compiled modes. For a win the speed-up is above {WIN_MARGIN} at the lower end of its 95 % interval in each of
  {WIN_SESSIONS} sessions.
- Without the target it is compiled for it and held against the limits that the target's documents state (registers,
  spills, scratchpad, instructions used). No speed follows from that.
- Nothing that the candidate prints, measures or claims is looked at. It has no network and no files but its own."""

_TUNING = """\
What may be tuned is declared on a line of its own, from its first column, at the top level of the file:
`{example}`
The number is the value in use; the choices after `tune:` are whole numbers. Every combination must be correct."""


def contract(interface: Interface, language: Language) -> str:
    """The tensors that go in and out, the rules of the language, and how the judge decides."""
    tuning = _TUNING.format(example=language.tunable)
    return "\n\n".join((_described(interface), language.rules, tuning, JUDGING))


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
