"""The directories of skills on disk: the shipped ones, which are never written, the home's, and its proposals.

What is learnt about a shipped skill is kept in the home, in a directory of the same name without SKILL.md.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from kb.catalog import storage_errors, write_lock
from kb.errors import SkillError
from kb.skillbook.files import MAIN, load_skill, parse_skill, read_files, skill_files
from kb.storage import sync_folders, write_synced
from kb.types.skill import Skill

ADDED = ("evidence/", "records/")
"""What is added to a skill after it was published."""
PUBLISH_WAIT_S = 120.0
"""How long to wait for the lock, e.g. during an ingest: losing a run's win would cost more."""

FOLDERS = ("scripts", "evidence", "records")
"""The folders in the directory of a skill."""

_STAGE = ".stage-"

Stamp = tuple[tuple[str, int, int], ...]
"""Path, size and time of change of each file; what has another stamp than before is read again."""
Read = Iterator[tuple[Path, Skill | SkillError]]
"""Each skill by its directory, or why it is malformed."""


class SkillStore:
    """Reads and writes whole skills. Nothing in them changes: evidence and records are added."""

    def __init__(self, home: Path, shipped: Path) -> None:
        self.home = home
        self.folder = home / "skills"
        self.proposed = self.folder / ".proposals"
        self.shipped = shipped
        self._read: dict[Path, tuple[Stamp, Skill | SkillError]] = {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers out.

        Raises:
            StoreError: the home cannot be written, the disk is full, or another process holds the lock.
        """
        with write_lock(self.home, wait_s=PUBLISH_WAIT_S), storage_errors(self.home):
            yield

    def published(self) -> Read:
        """The published and the shipped skills, in the order of their names."""
        found = {folder.name: folder for folder in self._folders(self.shipped)}
        for folder in self._folders(self.folder):
            if folder.name not in found or (folder / MAIN).exists():
                found[folder.name] = folder
        for name, folder in sorted(found.items()):
            places = dict.fromkeys(map(str, (folder, f"{self.folder}/{name}", f"{self.proposed}/{name}")))
            stamp = sum(map(_stamp, places), ())
            if folder not in self._read or self._read[folder][0] != stamp:
                self._read[folder] = stamp, self._parsed(folder)
            yield folder, self._read[folder][1]

    def _parsed(self, folder: Path) -> Skill | SkillError:
        try:
            return parse_skill(folder, self._files(folder))
        except SkillError as error:
            return error

    def proposals(self) -> Read:
        """The proposals that are not published yet."""
        for folder in self._folders(self.proposed):
            try:
                proposal = read_files(folder)
                published = read_files(self._main(folder.name).parent)
                if MAIN not in proposal or proposal[MAIN] != published.get(MAIN):
                    yield folder, parse_skill(folder, proposal)
            except SkillError as error:
                yield folder, error

    def write(self, skill: Skill, root: Path) -> None:
        """Write a skill into `root`, one of `folder` and `proposed`; if it is known, only its new evidence and records.

        A proposal that is published stays where it is: if one home deleted it and another added to it, git would not
        merge them. What it holds counts for the published skill.

        Raises:
            SkillError: it would be malformed, or the skill of this name has other content.
            StoreError: as in `locked`.
        """
        name, files, proposal = skill.name, skill_files(skill), self.proposed / skill.name
        parse_skill(root / name, files)
        with self.locked():
            known = [f for f in (self._main(name).parent, proposal) if (f / MAIN).exists()]
            held = next((f for f in known if load_skill(f).content_digest == skill.content_digest), None)
            if known and (held is None or (root == self.folder and held != known[0])):
                raise SkillError(
                    f"{known[0]} holds other content",
                    hint="the content of a skill never changes: publish other content under another name",
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            for remains in self.folder.glob(f"{_STAGE}*"):  # left by a process that died while it held the lock
                shutil.rmtree(remains)
            if held == proposal and root == self.folder:
                files |= read_files(proposal)
            elif held:
                files = {path: content for path, content in files.items() if path.startswith(ADDED)}
                root = self.proposed if held == proposal else self.folder
            root.mkdir(exist_ok=True)
            self._move_in(root / name, files)

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
        sync_folders(folder.parent, self.folder, self.home)

    def _main(self, name: str) -> Path:
        """Path of SKILL.md of a published or shipped skill; the home's takes precedence."""
        own, shipped = (root / name / MAIN for root in (self.folder, self.shipped))
        return own if own.exists() or not shipped.exists() else shipped

    def _files(self, folder: Path) -> dict[str, bytes]:
        """The files of a skill, with what the home has learnt about it."""
        files = read_files(folder)
        others = (self.folder / folder.name, self.proposed / folder.name)
        for other in (other for other in others if other != folder and other.is_dir()):
            added = read_files(other)
            if added.get(MAIN, files.get(MAIN)) == files.get(MAIN):
                files = added | files
        return files

    def _folders(self, root: Path) -> list[Path]:
        with storage_errors(self.home):
            found = sorted(root.iterdir()) if root.is_dir() else []
            return [path for path in found if path.is_dir() and not path.name.startswith(".")]


def _stamp(folder: str) -> Stamp:
    """The stamps of the files in the directory of a skill, and of its folders. Folders of these may be links to it."""
    found: list[tuple[str, int, int]] = []
    places = [folder]
    for place in places:
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                stat = entry.stat()
                found.append((entry.path, stat.st_size, stat.st_mtime_ns))
                if place == folder and entry.name in FOLDERS:
                    places.append(entry.path)
    return tuple(found)
