"""The tree of chips and families, which decides whose documents apply to a chip."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from kb.errors import TargetError, did_you_mean, nearest
from kb.model.spellings import any_of
from kb.model.target import Isa, Target
from kb.storage import write_whole

ROOT = "any"


class Targets:
    """All known targets. Lookups ignore case, blanks and punctuation in names and aliases."""

    def __init__(self, targets: Iterable[Target], *, own_file: Path) -> None:
        self._by_name = {t.name: t for t in targets}
        self._own_file = own_file
        self._resolve: dict[str, str] = {}
        self._lineages: dict[str, tuple[str, ...]] = {}
        for target in self._by_name.values():
            self._lineages[target.name] = self._checked_lineage(target)
            for spelling in (target.name, *target.aliases):
                if not _plain(spelling):
                    message = f"{spelling!r} cannot name {target.name!r}"
                    raise TargetError(message, hint="a name needs a letter or a digit")
                holder = self._resolve.setdefault(_plain(spelling), target.name)
                if holder != target.name:
                    raise TargetError(
                        f"{spelling!r} names both {holder!r} and {target.name!r}",
                        hint="a name or alias may belong to one target only",
                    )

    def _checked_lineage(self, target: Target) -> tuple[str, ...]:
        """The lineage of a target. Raises TargetError unless it ends at the root."""
        seen = [target.name]
        while (parent := self._by_name[seen[-1]].parent) is not None:
            seen.append(parent)
            if parent not in self._by_name:
                raise TargetError(
                    f"target {seen[-2]!r} has the unknown parent {parent!r}",
                    hint=f"add the parent first, or correct {self._own_file}",
                )
            if parent in seen[:-1]:
                raise TargetError(f"target {parent!r} is its own ancestor", hint=f"correct {self._own_file}")
        if seen[-1] != ROOT:
            message = f"the lineage of {target.name!r} does not end at {ROOT!r}"
            raise TargetError(message, hint=f"correct {self._own_file}")
        return tuple(seen)

    @classmethod
    def load(cls, home: Path) -> Self:
        """The targets that ship with kb and those of `home`. Raises TargetError if its targets.toml is not valid."""
        own_file = home / "targets.toml"
        shipped = files("kb").joinpath("targets.toml").read_text(encoding="utf-8")
        try:
            own = own_file.read_text(encoding="utf-8") if own_file.is_file() else ""
            return cls([*_parse(shipped), *_parse(own)], own_file=own_file)
        except ValidationError as error:
            problem = error.errors()[0]
            raise TargetError(
                f"{own_file} is not a valid list of targets: {'.'.join(map(str, problem['loc']))}: {problem['msg']}",
                hint="correct the file",
            ) from error
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise TargetError(f"{own_file} is not a valid list of targets: {error}", hint="correct the file") from error

    def __iter__(self) -> Iterator[Target]:
        return iter(self._by_name.values())

    def find(self, name: str) -> Target | None:
        resolved = self._resolve.get(_plain(name))
        return self._by_name[resolved] if resolved else None

    def get(self, name: str) -> Target:
        """The target with this name or alias. Raises TargetError, with the nearest names, if there is none."""
        if target := self.find(name):
            return target
        suggested = did_you_mean(nearest(_plain(name), self._resolve, cutoff=0.5))
        hint = f"{suggested}`kb targets list` shows all targets, `kb targets add {name}` adds one"
        raise TargetError(f"unknown target {name!r}", hint=hint)

    def lineage(self, name: str) -> tuple[str, ...]:
        """The target and its ancestors, nearest first, `any` last."""
        return self._lineages[self.get(name).name]

    def isa(self, name: str) -> Isa | None:
        """The target's name in a compiler; None if kb knows no compiler for it."""
        return next((isa for t in self.lineage(name) if (isa := self._by_name[t].isa)), None)

    @property
    def families(self) -> frozenset[str]:
        """Targets that stand for several chips; the chips may even have different instructions."""
        parents = {target.parent for target in self._by_name.values() if target.parent}
        return frozenset(name for name in parents if not self._by_name[name].isa)

    def scope(self, name: str) -> frozenset[str]:
        """The target, its ancestors and its descendants; all other targets are siblings."""
        own = self.get(name).name
        descendants = {name for name, lineage in self._lineages.items() if own in lineage}
        return frozenset(self.lineage(own)) | descendants

    def family(self, name: str) -> frozenset[str]:
        """The scope of the outermost ancestor below the root: the target, all its relatives and the root."""
        lineage = self.lineage(name)
        return self.scope(lineage[max(0, len(lineage) - 2)])

    def named_below(self, name: str, text: str) -> tuple[str, ...]:
        """The descendants of `name` that `text` mentions."""
        below = self.scope(name) - set(self.lineage(name))
        found = self._spelling(below).finditer(text) if below else ()
        return tuple(sorted({self._resolve[_plain(match.group())] for match in found}))

    def sibling_finder(self, name: str) -> Callable[[str], frozenset[str]]:
        """A function that finds siblings in a text; none if the text also names a relative that only `name` has."""
        scope, spelling = self.scope(name), self._spelling(self.family(name))

        def siblings(text: str) -> frozenset[str]:
            named = {self._resolve[_plain(match.group())] for match in spelling.finditer(text)}
            found = named - scope
            shared = {ancestor for sibling in found for ancestor in self.lineage(sibling)}
            return frozenset() if named - found - shared else frozenset(found)

        return siblings

    def finder(self, names: Iterable[str]) -> Callable[[str], list[tuple[int, int, str]]]:
        """A function that finds these targets in a text: start, end and name of each mention, in order."""
        spelling = self._spelling(names)
        return lambda text: [(m.start(), m.end(), self._resolve[_plain(m.group())]) for m in spelling.finditer(text)]

    def _spelling(self, names: Iterable[str]) -> re.Pattern[str]:
        """A pattern for these targets in texts: in any case, with or without separators, longest spelling first."""
        spellings = (s.lower() for name in names for s in (name, *self._by_name[name].aliases))
        parts = [re.findall(r"[a-z]+|\d+", s) for s in sorted(spellings, key=len)[::-1]]
        written = any_of(map(" ".join, parts), lambda word: word.replace(" ", "[-_ ]?"))
        return re.compile(rf"(?<![A-Za-z0-9])(?:{written})(?![A-Za-z0-9])", re.IGNORECASE | re.ASCII)

    def of_path(self, parts: Iterable[str]) -> str | None:
        """The target that the folder names of a path name, outermost first; None if they name none.

        The first known name decides; later names can only make it more specific (`tenstorrent/…/WormholeB0` is
        wormhole, `mi300x/…/AMDGPU` stays mi300x).
        """
        found: str | None = None
        for part in parts:
            target = self.find(part)
            if target and target.name != ROOT and (found is None or found in self.lineage(target.name)):
                found = target.name
        return found

    def with_new(self, name: str, *, parent: str = ROOT, aliases: Iterable[str] = ()) -> Self:
        """These targets and a new one, which is not saved.

        Raises:
            TargetError: the name is taken or malformed, or the parent is unknown.
        """
        slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
        try:
            target = Target(name=slug, parent=self.get(parent).name, aliases=tuple(aliases))
        except ValidationError as error:
            hint = "use letters, digits, '.', '_' and '-', or pass --target"
            raise TargetError(f"{name!r} cannot be a target name", hint=hint) from error
        if slug in self._by_name:
            raise TargetError(f"target {slug!r} exists already", hint=f"`kb targets show {slug}`")
        return type(self)([*self, target], own_file=self._own_file)

    def save(self, name: str) -> None:
        """Add `name` to the home's targets.toml and leave the rest of the file as it is."""
        import tomlkit

        target = self._by_name[name]
        own = tomlkit.parse(self._own_file.read_text(encoding="utf-8") if self._own_file.is_file() else "")
        own.add(name, tomlkit.item({"parent": target.parent, "aliases": list(target.aliases)}))
        write_whole(self._own_file, tomlkit.dumps(own))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _parse(text: str) -> list[Target]:
    return [
        Target.model_validate({"parent": None if name == ROOT else ROOT} | _table(entry) | {"name": name})
        for name, entry in tomllib.loads(text).items()
    ]


def _table(entry: object) -> dict[str, object]:
    """The fields of one target; any other entry is passed on, so that validation refuses it."""
    return entry if isinstance(entry, dict) and "name" not in entry else {"entry": entry}
