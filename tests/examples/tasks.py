"""The example tasks at sizes of the tests' choice, and the templates that claim to do them."""

import copy
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from eval.languages.registry import language_of
from kb.types.kernels import Candidate

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SHIPPED = sorted(path.parent for path in (ROOT / "kb" / "skills").glob("*/SKILL.md"))
JUDGED = [path for path in SHIPPED if (path / "evidence").is_dir()]
"""Kernels that won somewhere, as they were judged; the others are templates, which nobody has measured."""
TEMPLATES = [path for path in SHIPPED if path not in JUDGED]

_ROWS = ({"ROWS": 1, "COLS": 1}, {"ROWS": 7, "COLS": 67}, {"ROWS": 3, "COLS": 257}, {"ROWS": 2, "COLS": 8209})
_MATVEC = ({"INNER": 1, "OUTER": 1}, {"INNER": 67, "OUTER": 7}, {"INNER": 2053, "OUTER": 19})
SIZES: dict[str, tuple[dict[str, int], ...]] = {
    "cross_entropy": tuple({"ROWS": s["ROWS"], "CLASSES": s["COLS"]} for s in _ROWS),
    "exclusive_cumsum": _ROWS,
    "gelu": _ROWS,
    "int8_matvec": _MATVEC,
    "int8_matvec_wide": _MATVEC,
    "layernorm": _ROWS,
    "logsumexp": _ROWS,
    "logsumexp_long": _ROWS,
    "matmul": (
        {"ROWS": 1, "INNER": 1, "COLS": 1},
        {"ROWS": 37, "INNER": 67, "COLS": 13},
        {"ROWS": 131, "INNER": 521, "COLS": 149},
    ),
    "reverse_cumsum": _ROWS,
    "rmsnorm": _ROWS,
    "row_sum": _ROWS,
    "softmax": _ROWS,
}
"""By task: one element, odd sizes, and rows longer than the largest block or band."""


def constants(task: str) -> set[str]:
    return set(re.findall(r"^([A-Z_]+) = \d+$", (ROOT / "examples" / f"{task}.py").read_text(encoding="utf-8"), re.M))


def load(task: str, sizes: dict[str, int]) -> ModuleType:
    """The task's module with other numbers for its constants."""
    path = ROOT / "examples" / f"{task}.py"
    source = re.sub(
        r"^([A-Z_]+) = \d+$", lambda m: f"{m[1]} = {sizes[m[1]]}", path.read_text(encoding="utf-8"), flags=re.M
    )
    module = ModuleType(task)
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def draw(module: ModuleType) -> tuple[Any, list[Any], Any]:
    """The reference, inputs, and what the reference makes of them in float64."""
    import torch

    torch.manual_seed(0)
    model, inputs = module.Model(*module.get_init_inputs()), module.get_inputs()
    with torch.no_grad():
        wanted = copy.deepcopy(model).double()(*(x.double() if x.is_floating_point() else x for x in inputs))
    return model, inputs, wanted


def compare(got: Any, wanted: Any, what: object) -> None:
    """Raise AssertionError where they differ by more than float32 explains: errors of sums are those of their terms."""
    import torch

    atol = 1e-6 * wanted.abs().max().item()
    torch.testing.assert_close(got.double(), wanted, rtol=1e-5, atol=atol, msg=lambda text: f"{what}: {text}")


def candidate(template: Path) -> Candidate:
    [source] = (template / "scripts").iterdir()
    text = source.read_text(encoding="utf-8")
    return Candidate(language=language_of(source, text).name, source=text)


def task_of(template: Path) -> str:
    return template.name.rpartition("-")[0].replace("-", "_")


def settings(kernel: Candidate) -> list[dict[str, int]]:
    """Parameters as declared, at the first of their choices, and at the last."""
    return [{}] + [{p.name: p.choices[i] for p in kernel.parameters} for i in (0, -1)]
