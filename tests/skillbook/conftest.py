"""A skill library for tests, in which each test decides what ships."""

from datetime import date
from pathlib import Path

import pytest

from kb.skillbook.files import skill_files
from kb.skillbook.library import Skillbook, utc_now
from kb.types.skill import Skill
from kb.types.skill_record import SkillRecord

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


def decided(book: Skillbook, name: str, verb: str, *, reason: str = "") -> Skill:
    """The skill or the proposal after a curator's decision."""
    found = book.find(name)
    record = SkillRecord(
        verb=verb, skill=name, content_digest=found.content_digest, created=utc_now(), by="ann", reason=reason
    )
    book.record(found, record)
    return book.find(name)


def write(root: Path, *skills: Skill) -> None:
    """Write skills into a folder without publishing them."""
    for skill in skills:
        write_files(root / skill.name, skill_files(skill))


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
