"""Conditions on sizes, data types and tools are checked exactly; what cannot be read is refused."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import SkillError
from kb.skillbook.files import parse_skill, skill_files
from kb.skillbook.preconditions import check, sizes_hold, unmet
from kb.types.kernels import Interface, TensorSpec
from kb.types.skill import Preconditions
from tests.skillbook.evidence import skill

SIZES = {"rows": 64, "cols": 1000, "count": 64000}


def interface(*tensors: TensorSpec) -> Interface:
    return Interface(inputs=tensors, state=(), outputs=(), init=())


def tensor(*shape: int, dtype: str = "float32") -> TensorSpec:
    return TensorSpec(name="x", shape=shape, dtype=dtype)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("", True),
        ("cols <= 16384 and rows >= 500", False),
        ("cols <= 16384 or rows >= 500", True),
        ("not cols > 999", False),
        ("64 <= rows < 65", True),
        ("cols % 8 == 0", True),
        ("cols % 16 != 0", True),
        ("rows * cols == count", True),
        ("count - rows > 2 * 32000", False),
    ],
)
def test_a_condition_on_sizes_holds_or_not(condition: str, holds: bool) -> None:
    assert sizes_hold(condition, SIZES) is holds


@pytest.mark.parametrize(
    "condition",
    ["cols", "1", "cols <", "depth > 1", "cols > 1.5", "__import__('os')", "cols ** 9 > 1", "cols % rows == 0",
     "cols in (1, 2)", "cols > 1 or depth", "True", "cols > True", "a" * 5000, "(" * 300, "rows.real > 1"],
)  # fmt: skip
def test_a_condition_that_cannot_be_read_is_refused(condition: str) -> None:
    with pytest.raises(ValueError, match=r"size|number"):
        check(Preconditions(shapes=condition))


@given(st.text(max_size=60) | st.text("rowscnt <>=!andor%()123", max_size=40))
def test_any_text_is_read_or_refused(condition: str) -> None:
    with suppress(ValueError):
        assert sizes_hold(condition, SIZES) in (True, False)


@pytest.mark.parametrize("toolchain", [">=3", "triton>=x", "triton>=3 <4"])
def test_a_toolchain_that_cannot_be_read_is_refused(toolchain: str) -> None:
    with pytest.raises(ValueError, match="not a tool with versions"):
        check(Preconditions(toolchain=toolchain))


def test_a_skill_whose_preconditions_cannot_be_read_is_malformed(tmp_path: Path) -> None:
    files = skill_files(skill(preconditions=Preconditions(shapes="depth > 1")))

    with pytest.raises(SkillError, match="'depth' is neither rows, cols, count nor a whole number"):
        parse_skill(tmp_path / "softmax", files)


def test_sizes_are_those_of_the_largest_input() -> None:
    assert interface(tensor(9), tensor(4, 8, 100)).sizes == {"rows": 32, "cols": 100, "count": 3200}
    assert interface(tensor()).sizes == {"rows": 1, "cols": 1, "count": 1}


@pytest.mark.parametrize(
    ("dtypes", "reason"),
    [((), ""), (("float32", "int64"), ""), (("float32",), "it is for float32; the task has int64")],
)
def test_all_data_types_of_the_task_must_be_among_those_of_the_skill(dtypes: tuple[str, ...], reason: str) -> None:
    task = interface(tensor(8), tensor(8, dtype="int64"))

    assert unmet(Preconditions(dtypes=dtypes), task, dict) == reason


@pytest.mark.parametrize(
    ("toolchain", "reason"),
    [
        ("triton>=3.2,<4", ""),
        ("triton>=3.2 torch>=2.12", "it needs torch>=2.12; here is 2.11.0"),
        ("compiler>=13", "it needs compiler>=13; here is 12.2.0"),
        ("nvcc>=12", ""),
    ],
)
def test_a_tool_of_another_version_is_a_reason_and_an_absent_one_is_not(toolchain: str, reason: str) -> None:
    here = {"triton": "3.6.0", "torch": "2.11.0+cpu", "compiler": "c++ (Debian 12.2.0-14) 12.2.0"}

    assert unmet(Preconditions(toolchain=toolchain), interface(tensor(8)), lambda: here) == reason
