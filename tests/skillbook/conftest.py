"""A skill library for tests, in which each test decides what ships."""

from datetime import date
from pathlib import Path

import pytest

from kb.skillbook.files import skill_files
from kb.skillbook.library import Skillbook, record_of
from kb.types.skill import Skill, Verb

TODAY = date(2025, 12, 1)
"""Shortly after the evidence of these tests was made."""


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    return tmp_path / "shipped"


@pytest.fixture
def book(home: Path, shipped: Path) -> Skillbook:
    return Skillbook(home, shipped=shipped, today=lambda: TODAY)


def measured(book: Skillbook, skill: Skill) -> Skill:
    """Publish a skill whose evidence the home's judge gave."""
    book.attest(*skill.evidence)
    return book.publish(skill)


def decided(book: Skillbook, name: str, verb: Verb, *, reason: str = "") -> Skill:
    """The skill or the proposal after a curator's decision."""
    found = book.find(name)
    record = record_of(found, verb, by="ann", reason=reason)
    return book.publish(found.model_copy(update={"records": (*found.records, record)}))


def write(root: Path, *skills: Skill) -> None:
    """Write skills into a folder without publishing them."""
    for skill in skills:
        write_files(root / skill.name, skill_files(skill))


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
