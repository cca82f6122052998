"""Candidates that differ in what no compiler reads are the same program."""

import time

import pytest

from kb.types.kernels import Candidate

CPP = 'int f() {  // adds\n  return g("a // b") + 1\'000;\n}\nconstexpr int UNROLL = 4;  // tune: 1, 2, 4\n'
PYTHON = 'def f(x):\n    """Adds."""\n    return x + 1  # one\n\n\nBLOCK = 4  # tune: 1, 2, 4\n'


def program(language: str, source: str) -> str:
    return Candidate(language=language, source=source).program_digest


@pytest.mark.parametrize(
    ("language", "source", "old", "new", "same"),
    [
        ("cpp", CPP, "// adds", "/* adds\nboth */", True),
        ("cpp", CPP, "// adds", "// goes \\\non", True),
        ("cpp", CPP, "  return", "\n\n\t return", True),
        ("cpp", CPP, "a // b", "a // c", False),
        ("cpp", CPP, "a // b", "a  // b", False),
        ("cpp", CPP, 'g("a // b")', 'g(R"x("// 1)x")', False),
        ("cpp", CPP, "1'000", "1'001", False),
        ("cpp", CPP, "return g", "returng", False),
        ("cpp", CPP, "1, 2, 4", "1, 2, 8", False),
        ("cpp", CPP, "UNROLL = 4", "UNROLL = 2", False),
        ("cpp", "#define ONE 1 \\\n// two\nint x;\n", "// two\n", "", False),
        ("triton", PYTHON, "# one", "# 1", True),
        ("triton", PYTHON, "Adds.", "Adds one.", True),
        ("triton", PYTHON, '    """Adds."""\n', "", True),
        ("triton", PYTHON, "x + 1", "(x  +  1)", True),
        ("triton", PYTHON, "x + 1", "x + 2", False),
        ("triton", PYTHON, "1, 2, 4", "1, 2, 8", False),
        ("triton", PYTHON, '"""Adds."""', 'r"""\\d"""', True),
        ("triton", PYTHON, "x + 1", " + ".join(["x"] * 5000), False),
        ("other", "a -- b {\n", "-- b", "-- c", False),
    ],
)
def test_a_comment_makes_no_other_program(language: str, source: str, old: str, new: str, *, same: bool) -> None:
    assert old in source
    assert (program(language, source) == program(language, source.replace(old, new))) is same


@pytest.mark.parametrize("mark", ["/*", 'R"', 'R"(', '\\"', "\\'", "//\\", "1'"])
def test_no_source_takes_long(mark: str) -> None:
    start = time.monotonic()
    program("cpp", mark * 100_000)
    assert time.monotonic() - start < 5


def test_quotes_and_marks_of_comments_inside_of_each_other() -> None:
    raw = 'auto s = R"(" /* )"; char c = \'"\'; int n = 1\'000; // "\n'

    assert program("cpp", raw) == program("cpp", raw.replace('// "', "// it's"))
    assert program("cpp", raw) != program("cpp", raw.replace("/* ", "/*  "))
    assert program("cpp", raw) != program("cuda", raw)
