"""The directories of skills on disk: the shipped ones, which are never written, and the home's.

What is learnt about a shipped skill is kept in the home, in a directory of the same name without SKILL.md.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from kb.catalog import storage_errors, write_lock
from kb.errors import SkillError
from kb.skillbook.files import MAIN, load_skill, parse_skill, read_files, skill_files
from kb.storage import sync_folders, write_synced
from kb.types.skill import Skill, SkillRecord

ADDED = ("evidence/", "records/")
"""What is added to a skill after it was published."""
PUBLISH_WAIT_S = 120.0
"""How long to wait for the lock, e.g. during an ingest: losing a run's win would cost more."""

_STAGE = ".stage-"

Read = Iterator[tuple[Path, Skill | SkillError]]
"""Each skill by its directory, or why it is malformed."""


class SkillStore:
    """Reads and writes whole skills. Nothing in them changes: evidence and records are added."""

    def __init__(self, home: Path, shipped: Path) -> None:
        self.home = home
        self.folder = home / "skills"
        self.shipped = shipped
        self._earlier = self.folder / ".proposals"
        """Where earlier versions kept proposals; they are read like shipped skills, and wait."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers out.

        Raises:
            StoreError: the home cannot be written, the disk is full, or another process holds the lock.
        """
        with write_lock(self.home, wait_s=PUBLISH_WAIT_S), storage_errors(self.home):
            yield

    def skills(self) -> Read:
        """All skills, in the order of their names."""
        found: dict[str, Path] = {}
        for root in (self._earlier, self.shipped, self.folder):
            for folder in self._folders(root):
                if folder.name not in found or (folder / MAIN).exists():
                    found[folder.name] = folder
        for _, folder in sorted(found.items()):
            try:
                yield folder, self._skill(folder)
            except SkillError as error:
                yield folder, error

    def _skill(self, folder: Path) -> Skill:
        """A skill, with what the home has learnt about it."""
        added = read_files(self.folder / folder.name) if folder.parent != self.folder else {}
        skill = _parsed(folder, tuple((added | read_files(folder)).items()))
        if folder.parent != self._earlier:
            return skill
        waits = SkillRecord(
            verb="propose", skill=skill.name, content_digest=skill.content_digest, created="", by="an earlier kb"
        )
        return skill.model_copy(update={"records": (waits, *skill.records)})

    def write(self, skill: Skill, attached: Mapping[str, bytes]) -> None:
        """Write a skill into the home with the files beside it; if it is known, only its new evidence and records.

        Raises:
            SkillError: it would be malformed, or the skill of this name has other content.
            StoreError: as in `locked`.
        """
        name, files = skill.name, {**attached, **skill_files(skill)}
        parse_skill(self.folder / name, files)
        with self.locked():
            roots = (self.folder, self.shipped, self._earlier)
            if held := next((root / name for root in roots if (root / name / MAIN).exists()), None):
                if changed := load_skill(held).differing(skill):
                    raise SkillError(
                        f"{held} holds other content: {', '.join(changed)}",
                        hint="the content of a skill never changes: publish other content under another name",
                    )
                files = {path: content for path, content in files.items() if path.startswith(ADDED)}
            self.folder.mkdir(parents=True, exist_ok=True)
            for remains in self.folder.glob(f"{_STAGE}*"):  # left by a process that died while it held the lock
                shutil.rmtree(remains)
            self._move_in(self.folder / name, files)

    def _move_in(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Write `files` to a staging folder, then rename it to `folder`, or move in only what `folder` lacks."""
        with tempfile.TemporaryDirectory(prefix=_STAGE, dir=self.folder) as stage:
            staged = Path(stage) / folder.name
            for path, content in files.items():
                (staged / path).parent.mkdir(parents=True, exist_ok=True)
                write_synced(staged / path, content)
            if folder.exists():
                for path in sorted(files, key=lambda path: path == MAIN):  # a folder with SKILL.md is complete
                    (folder / path).parent.mkdir(exist_ok=True)
                    if not (folder / path).exists():
                        (staged / path).rename(folder / path)
                sync_folders(*{(folder / path).parent for path in files})
            elif files:
                sync_folders(*{(staged / path).parent for path in files})
                staged.rename(folder)
        sync_folders(folder.parent, self.home)

    def _folders(self, root: Path) -> list[Path]:
        with storage_errors(self.home):
            found = sorted(root.iterdir()) if root.is_dir() else []
            return [path for path in found if path.is_dir() and not path.name.startswith(".")]


@lru_cache(maxsize=1 << 15)  # a run reads the library at every step; more skills than that find nothing here
def _parsed(folder: Path, files: tuple[tuple[str, bytes], ...]) -> Skill:
    return parse_skill(folder, dict(files))
