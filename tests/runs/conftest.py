"""A library with one template, and a judge that logs what it judges."""

from pathlib import Path

import pytest

from kb.skillbook.library import Skillbook
from tests.runs.fakes import FakeJudge, template


@pytest.fixture
def library(tmp_path: Path) -> Path:
    Skillbook(tmp_path / "library", shipped=tmp_path / "none").publish(template())
    return tmp_path / "library" / "skills"


@pytest.fixture
def judge(tmp_path: Path) -> FakeJudge:
    return FakeJudge(tmp_path / "judged.log")
