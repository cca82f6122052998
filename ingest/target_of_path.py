"""Where a file belongs: the target that its folders name, and the path that citations show.

The innermost folder that names something is the chip. A folder whose words are all ordinary (`docs`, `isa`, `v1.2`)
names nothing. A folder that holds documents itself is one manual: nothing below it names another chip. A folder that
holds only such folders is a family, with its chips below. If it names a chip, with a number (`qx7-a2`) or once more
inside (`qxa/qxa`), the folders in it are its documents if there is but one, or if each begins with its letters
(`qx-dsp`) or has an ordinary word (`some-blog`). A name that kb knows comes before all of this.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from ingest.archives import folder_name
from ingest.scan import SHEETS, ScannedFile
from kb.errors import TargetError
from kb.targets import ROOT, Targets
from kb.types.documents import NewTarget, SharedFolder

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+|[^\W_a-zA-Z0-9]+")
_NUMBER = re.compile(r"v?\d{1,2}|(19|20)\d\d")
_PRODUCT = re.compile(r"(?=.*\d)[^\W_]+[-_. ]?[^\W_]*")
_VARIANT = re.compile(r"(?:lite|max|mini|nano|plus|pro|super|ti|ultra)$", re.IGNORECASE)
"""What ends the name of another chip of a series: `qxa-nano`."""


class Layout:
    """Assigns the files of one ingest to targets, and adds the targets that their folders name for the first time.

    Args:
        files: All files of the ingest that are read.
        parent: Parent of the outermost new targets (default: `any`).
    """

    def __init__(self, targets: Targets, files: Sequence[ScannedFile], *, parent: str | None = None) -> None:
        self.targets = targets
        self._earlier = targets
        self.new: list[NewTarget] = []
        self.shared: dict[Path, SharedFolder] = {}
        self._parent = targets.get(parent).name if parent else None
        self._whole = _whole_chips({f.place.parent for f in files})
        places = (f.place for f in files)  # the read-me of a folder with an ordinary name introduces manuals below it
        introduces = ("readme", True)
        self._manuals = {p.parent for p in places if (p.stem.lower(), is_ordinary(folder_name(p.parent))) != introduces}

    def named(self, name: str) -> str:
        """The target with this name or alias, which becomes a new target if there is none.

        Raises:
            TargetError: the target has another parent, or `name` is malformed.
        """
        known = self.targets.find(name)
        if known is None:
            return self._add(name, self._parent or ROOT)
        if self._parent not in (None, known.parent):
            raise TargetError(
                f"{known.name} is a child of {known.parent}, not of {self._parent}",
                hint=f"omit --parent, or move it: `kb targets move {known.name} {self._parent}`",
            )
        return known.name

    def target_of(self, file: ScannedFile, *, before: str | None) -> str:
        """The target of a file: known from its folders, as it was `before`, or new.

        Raises:
            TargetError: no folder names a target, or the name of a folder cannot be one.
        """
        folders = _folders(file)
        known = self._known(folders, file.top)
        names, inside = self._names(folders, known)
        if known and (self._is_chip(known) or not self.targets.is_own(known)):  # not a family that the user added
            if names and known in self.targets.families:
                self._share(names[0], known, parent=known)
            return known
        if before and self.targets.find(before):
            return before
        if not known and not names:
            names = [_above(file.top)]
        found = self._new(known or self._parent or ROOT, names)
        if inside and any(new.name == found for new in self.new):
            self._share(inside[0], found, parent=self.targets.lineage(found)[1])
        return found

    def _new(self, found: str, names: Sequence[Path]) -> str:
        """The innermost target of these folders below the target `found`; unknown ones are added."""
        for folder in names:
            inner = self.targets.find(folder_name(folder))
            if inner is None:
                found = self._add(folder_name(folder), found, folder)
            elif inner.name not in self.targets.lineage(found):
                found = inner.name
        return found

    def shown(self, file: ScannedFile, target: str) -> str:
        """The path of a file from the outermost folder that names its target or the target's family.

        It is the same whichever folder was ingested. If no folder names the target, the path begins with the ingested
        folder.
        """
        if file.path.is_relative_to(SHEETS):
            top = SHEETS
        else:
            lineage = set(self.targets.lineage(target)) - {ROOT}
            above = reversed(file.place.parents)
            top = next((f for f in above if (t := self.targets.find(folder_name(f))) and t.name in lineage), file.top)
        return file.place.relative_to(top.parent).as_posix().encode(errors="replace").decode()

    def _known(self, folders: Sequence[Path], top: Path) -> str | None:
        """The known target of the folders from the ingested one down, or else the nearest known chip above."""
        known = self._earlier.of_path(map(folder_name, folders))
        earlier = (t.name for f in top.parents if (t := self._earlier.find(f.name)))
        above = next(filter(self._is_chip, earlier), None)
        return above if above and (known is None or known in self.targets.lineage(above)) else known

    def _is_chip(self, name: str) -> bool:
        return self.targets.scope(name) == set(self.targets.lineage(name))

    def _names(self, folders: Sequence[Path], known: str | None) -> tuple[list[Path], list[Path]]:
        """The folders that name something below the one that names `known`: down to the first manual, and inside it."""
        naming = (i for i, f in enumerate(folders) if (t := self.targets.find(folder_name(f))) and t.name == known)
        start = max(naming, default=-1)
        manual = next((i for i, f in enumerate(folders) if i >= start and f in self._manuals), len(folders))
        below = [i for i, f in enumerate(folders) if i > start and not is_ordinary(folder_name(f))]
        chips = [folders[i] for i in below if i <= manual]
        pairs = enumerate(pairwise(chips), start=1)
        end = next((n for n, (outer, f) in pairs if outer in self._whole and not _is_product(f)), len(chips))
        return chips[:end], [folders[i] for i in below][end:]

    def _share(self, folder: Path, target: str, *, parent: str) -> None:
        self.shared[folder] = SharedFolder(folder=str(folder), target=target, parent=parent)

    def _add(self, name: str, parent: str, folder: Path | None = None) -> str:
        similar = () if folder else tuple(self.targets.similar(name))
        self.targets = self.targets.with_new(name, parent=parent)
        added = self.targets.get(name).name
        self.new.append(NewTarget(name=added, parent=parent, folder=str(folder or ""), similar=similar))
        return added


def _whole_chips(folders: Iterable[Path]) -> set[Path]:
    """The folders that name a chip and hold only its documents, apart from folders with the number of another chip."""
    inside = defaultdict[Path, set[Path]](set)
    for folder in folders:
        for inner, outer in pairwise(f for f in (folder, *folder.parents) if not is_ordinary(folder_name(f))):
            inside[outer].add(inner)
    return {outer for outer, inner in inside.items() if _is_whole(outer, inner)}


def _is_whole(chip: Path, inside: Collection[Path]) -> bool:
    names_chip = _is_product(chip) or _plain(chip) in map(_plain, inside)
    letters = re.split(r"\d", _plain(chip))[0]
    return names_chip and (len(inside) == 1 or all(_is_product(f) or _is_part(f, letters) for f in inside))


def _is_part(folder: Path, letters: str) -> bool:
    """Whether a folder in that of a chip with these `letters` holds its documents, by its name."""
    name = folder_name(folder)
    words = (word.lower() for word in _WORD.findall(name))
    begins_alike = len(letters) > 1 and _plain(folder).startswith(letters)
    return not _VARIANT.search(name) and (begins_alike or not _ordinary_words().isdisjoint(words))


def _is_product(folder: Path) -> bool:
    """Whether a folder has the name of a chip with a number; `batch3` and `introducing-qx7-a2` are none."""
    name = folder_name(folder)
    return bool(_PRODUCT.fullmatch(name)) and not is_ordinary(re.sub(r"\d", " ", name))


def _plain(folder: Path) -> str:
    return re.sub(r"[\W_]", "", folder_name(folder)).lower()


def is_ordinary(name: str) -> bool:
    """Whether a folder's name says nothing about a chip; `user-guide`, `v1.2` and `00_hardware` do not."""
    return all(w.lower() in _ordinary_words() or _NUMBER.fullmatch(w.lower()) for w in _WORD.findall(name))


@cache
def _ordinary_words() -> frozenset[str]:
    lines = files("ingest").joinpath("ordinary_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _folders(file: ScannedFile) -> list[Path]:
    """The folders from the ingested one down to the file's own."""
    inner = file.place.relative_to(file.top).parts[:-1]
    return [file.top.joinpath(*inner[:n]) for n in range(len(inner) + 1)]


def _above(folder: Path) -> Path:
    """The nearest folder above `folder`, below the user's own, that names something."""
    for above in folder.parents:
        if above == Path.home():
            break
        if not is_ordinary(above.name):
            return above
    raise TargetError(f"no folder of {folder} names a chip", hint="name it with --target")
