"""What a candidate in Python may use of Python: its kernel language, and no way out of it."""

import types
from pathlib import Path

import pytest

from kb.toolchains.allowed import load_candidate

LANGUAGE = {
    "chip": {"double": lambda x: 2 * x, "os": types.ModuleType("os"), "_private": 1},
    "chip.math": {"half": lambda x: x / 2},
}
USES = "import chip\nimport chip.math as m\nfrom chip.math import half\nfrom chip import math\n"
FORBIDDEN = [
    "import os",
    "import chip.os",
    "from chip import os",
    "from chip import _private",
    "from chip import *",
    "def f():\n    import chip",
    "import chip\nchip.os.system('true')",
    "import chip\nchip.double = None",
    "import chip\ndel chip.double",
    "import chip\nfor chip.double in [1]:\n    pass",
    "import chip\nchip.double.__globals__",
    "(x for x in []).gi_frame",
    "__import__('os')",
    "__builtins__",
    "class A:\n    pass",
    "match 1:\n    case object(__class__=c):\n        pass",
    "open('output_0.bin')",
    "getattr(1, 'real')",
    "raise SystemExit(0)",
    "exit(0)",
    "eval('1')",
    "def model_new(inputs)\n    pass",
    "pass",
]


def load(folder: Path, source: str, **options: object):
    file = folder / "candidate.py"
    file.write_text(source)
    return load_candidate(file, LANGUAGE, **options)


def test_a_candidate_imports_its_language(tmp_path: Path) -> None:
    model_new = load(tmp_path, USES + "def model_new(x):\n    return half(m.half(math.half(chip.double(x))))")

    assert model_new(8) == 2


@pytest.mark.parametrize("source", FORBIDDEN)
def test_it_reaches_nothing_else(tmp_path: Path, source: str) -> None:
    with pytest.raises((SystemExit, NameError, AttributeError, SyntaxError)) as refused:
        load(tmp_path, source)

    assert getattr(refused.value, "code", "") != 0


def test_attributes_may_be_those_of_the_language_alone(tmp_path: Path) -> None:
    source = "import chip\ndef model_new():\n    chip.{}"
    load(tmp_path, source.format("double"), attributes=["double"])

    with pytest.raises(SystemExit, match="the language has no `half`"):
        load(tmp_path, source.format("half"), attributes=["double"])
