"""A library of a test's own, which ships what the test puts there."""

from pathlib import Path

import pytest

from kb.model.skill import Skill
from kb.skillbook.files import skill_files
from kb.skillbook.library import Skillbook


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    return tmp_path / "shipped"


@pytest.fixture
def book(home: Path, shipped: Path) -> Skillbook:
    return Skillbook(home, shipped=shipped)


def write(root: Path, *skills: Skill) -> None:
    """Put skills into a folder as if they had always been there."""
    for skill in skills:
        write_files(root / skill.name, skill_files(skill))


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
