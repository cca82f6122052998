"""A kernel as one Python file: it runs without kb, and the reference answers whatever the kernel was not judged for."""

from importlib.resources import files
from string import Template

from eval.languages.registry import TRITON
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface, Task

BUILDERS = {"cpp": "cpp.py.txt", "triton": "python.py.txt", "torch": "python.py.txt"}
"""How a kernel is built, by its language."""


def kernel_file(task: Task, candidate: Candidate, evidence: Evidence, interface: Interface) -> str:
    """The text of the file; empty for languages that need more than torch, Triton and a C++ compiler.

    Its class `Model` has the parameters and the `state_dict` of the reference's, and takes its place for inference.
    """
    if candidate.language not in BUILDERS:
        return ""
    header = files("eval") / "languages" / "kb_tensor.h"
    values = {
        "task": task.name,
        "judged": _judged(evidence),
        "python": candidate.source,
        "cpp": _literal(candidate.source),
        "header": _literal(header.read_text(encoding="utf-8")),
        "reference": _literal(task.source),
        "device": repr("cuda" if is_on_gpu(candidate, evidence) else "cpu"),
        "inputs": repr([(tensor.shape, tensor.dtype, not tensor.stride) for tensor in interface.inputs]),
        "init": repr(list(interface.init)),
        "exact": repr(bool(evidence.limit)),
    }
    parts = ("title.py.txt", BUILDERS[candidate.language], "model.py.txt")
    folder = files("kb.exports")
    return "\n".join(Template((folder / part).read_text(encoding="utf-8")).substitute(values) for part in parts)


def is_on_gpu(candidate: Candidate, evidence: Evidence) -> bool:
    sessions = evidence.timing.sessions if evidence.timing else ()
    return candidate.language == TRITON.name or any(session.gpu for session in sessions)


def _judged(evidence: Evidence) -> str:
    timing, machine = evidence.timing, evidence.machine or "a machine that was not recorded"
    where = f"kb judged it for {evidence.target} on {machine}, {evidence.created[:10]}"
    if not evidence.passed:
        return f"{where}, and refused it: {evidence.outcome.replace('_', ' ')}."
    gain = f"{timing.speedup:.2f} times as fast as {timing.baseline}" if timing and not timing.busy else "not timed"
    return f"{where}: right, {gain}."


def _literal(text: str) -> str:
    """A string of Python that reads as the text does, line by line where that is possible."""
    plain = "\\" not in text and '"""' not in text and not text.endswith('"')
    return f'"""\\\n{text}"""' if plain else repr(text) if "\n" not in text else _lines(text)


def _lines(text: str) -> str:
    return "(\n" + "".join(f"    {line!r}\n" for line in text.splitlines(keepends=True)) + ")"
