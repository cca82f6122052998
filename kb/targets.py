"""The tree of chips and families, which decides whose documents apply to a chip."""

import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from kb.errors import TargetError, did_you_mean, nearest
from kb.storage import write_whole
from kb.types.base import reason_of
from kb.types.spellings import any_of, without
from kb.types.target import Isa, Target

ROOT = "any"


class Targets:
    """All known targets. Lookups ignore case, blanks and punctuation in names and aliases."""

    def __init__(self, targets: Iterable[Target], *, own_file: Path, shipped: frozenset[str] = frozenset()) -> None:
        self._by_name = {t.name: t for t in targets}
        self._own_file = own_file
        self._shipped = shipped
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
        shipped = _parse(files("kb").joinpath("targets.toml").read_text(encoding="utf-8"))
        try:
            own = _parse(own_file.read_text(encoding="utf-8") if own_file.is_file() else "")
            return cls([*shipped, *own], own_file=own_file, shipped=frozenset(t.name for t in shipped))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
            message = f"{own_file} is not a valid list of targets: {reason_of(error)}"
            raise TargetError(message, hint="correct the file") from error

    def __iter__(self) -> Iterator[Target]:
        return iter(self._by_name.values())

    def find(self, name: str) -> Target | None:
        resolved = self._resolve.get(_plain(name))
        return self._by_name[resolved] if resolved else None

    def similar(self, name: str) -> list[str]:
        """The known targets with the most similar names or aliases, nearest first."""
        return nearest(_plain(name), self._resolve, cutoff=0.5)

    def name_of(self, name: str) -> str:
        """The name of the target with this name or alias; an unknown name as it is."""
        found = self.find(name)
        return found.name if found else name

    def get(self, name: str) -> Target:
        """The target with this name or alias. Raises TargetError, with the nearest names, if there is none."""
        if target := self.find(name):
            return target
        hint = f"`kb targets list` shows all targets, `kb targets add {shlex.quote(name)}` adds one"
        raise TargetError(f"unknown target {name!r}", hint=did_you_mean(self.similar(name)) + hint)

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
        return tuple(sorted({found for _, _, found in self.finder(below)(text)} if below else ()))

    @cached_property
    def _mentions(self) -> Callable[[str], list[tuple[int, int, str]]]:
        return self.finder(self._by_name)

    def named(self, text: str) -> frozenset[str]:
        """The targets that `text` mentions."""
        return frozenset(name for _, _, name in self._mentions(text))

    def without_names(self, text: str, names: Collection[str] | None = None) -> str:
        """`text` with blanks instead of the names of these targets (None: of all)."""
        return without(text, ((start, end) for start, end, n in self._mentions(text) if names is None or n in names))

    def finder(self, names: Iterable[str]) -> Callable[[str], list[tuple[int, int, str]]]:
        """A function that finds these targets in a text: start, end and name of each mention, in order.

        A name is found in any case, with or without separators, and the longest that fits.
        """
        spellings = (s.lower() for name in names for s in (name, *self._by_name[name].aliases))
        parts = [re.findall(r"[a-z]+|\d+", s) for s in sorted(spellings, key=len)[::-1]]
        written = any_of(map(" ".join, parts), lambda word: word.replace(" ", "[-_ ]?"))
        spelling = re.compile(rf"(?<![A-Za-z0-9])(?:{written})(?![A-Za-z0-9])", re.IGNORECASE | re.ASCII)
        return lambda text: [(m.start(), m.end(), self._resolve[_plain(m.group())]) for m in spelling.finditer(text)]

    def of_path(self, parts: Iterable[str]) -> str | None:
        """The target that the folder names of a path name, outermost first; None if they name none.

        Of names that ship with kb the first decides; later names can only make it more specific
        (`tenstorrent/…/WormholeB0` is wormhole, `mi300x/…/AMDGPU` stays mi300x). Of the home's own names the last one
        decides, and one that ships with kb comes before them (`collection/mi300x` is mi300x).
        """
        found: str | None = None
        for part in parts:
            name = target.name if (target := self.find(part)) else ROOT
            if name == ROOT or (found and name in self.lineage(found)):
                continue
            if found is None or found in self.lineage(name) or self.is_own(found):
                found = name
        return found

    def is_own(self, name: str) -> bool:
        """Whether the home added the target; the others ship with kb and cannot be changed."""
        return self.get(name).name not in self._shipped

    def must_be_own(self, name: str) -> Target:
        """The target with this name or alias. Raises TargetError if it is unknown or ships with kb."""
        target = self.get(name)
        if self.is_own(name):
            return target
        hint = f"only targets that you added can be; `kb targets add NAME --parent {target.name}` adds one below it"
        raise TargetError(f"{target.name} ships with kb and cannot be changed", hint=hint)

    # Changed copies, which are not saved

    def with_new(self, name: str, *, parent: str = ROOT, title: str = "", aliases: Iterable[str] = ()) -> Self:
        """These targets and a new one.

        Raises:
            TargetError: the name or an alias is taken or malformed, or the parent is unknown.
        """
        slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
        if slug in self._by_name:
            raise TargetError(f"target {slug!r} exists already", hint=f"`kb targets show {slug}`")
        above = self.get(parent).name
        try:
            added = Target(name=slug, parent=above, title=title, aliases=tuple(aliases))
        except ValidationError as error:
            hint = "use letters, digits, '.', '_' and '-', or pass --target"
            raise TargetError(f"{name!r} cannot be a target name", hint=hint) from error
        return self._with({}, added)

    def with_aliases(self, name: str, aliases: Iterable[str]) -> Self:
        """A target of the home with more aliases. Raises TargetError as `with_new` and `must_be_own`."""
        target = self.must_be_own(name)
        return self._with({target.name: target.model_copy(update={"aliases": (*target.aliases, *aliases)})})

    def with_parent(self, name: str, parent: str) -> Self:
        """A target of the home with another parent. Raises TargetError also if the parent is below the target."""
        target, above = self.must_be_own(name), self.get(parent).name
        if target.name in self.lineage(above):
            hint = f"move {above} first, or choose another parent"
            raise TargetError(f"{target.name} cannot be moved to {above}, which is the same or below it", hint=hint)
        return self._with({target.name: target.model_copy(update={"parent": above})})

    def without(self, name: str) -> Self:
        """All targets but this one of the home. Raises TargetError also if it has children."""
        target = self.must_be_own(name)
        if children := [t.name for t in self if t.parent == target.name]:
            hint = "remove them first, or move them: `kb targets move NAME PARENT`"
            raise TargetError(f"{target.name} is the parent of {', '.join(children)}", hint=hint)
        return self._with({target.name: None})

    def _with(self, changes: Mapping[str, Target | None], *new: Target) -> Self:
        changed = [changes.get(t.name, t) for t in self]
        return type(self)([*filter(None, changed), *new], own_file=self._own_file, shipped=self._shipped)

    def save(self) -> None:
        """Write the home's targets to its targets.toml; what did not change keeps its form and its comments."""
        import tomlkit

        own = tomlkit.parse(self._own_file.read_text(encoding="utf-8") if self._own_file.is_file() else "")
        targets = {t.name: t for t in self if self.is_own(t.name)}
        for name in own.keys() - self._by_name.keys():
            del own[name]
        for name, target in targets.items():
            stated = target.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
            if name not in own:
                own.add(name, tomlkit.item(stated))
            written = {"parent": ROOT} | own[name]
            own[name].update({key: value for key, value in stated.items() if written.get(key) != value})
        write_whole(self._own_file, tomlkit.dumps(own))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@lru_cache(maxsize=8)  # a server loads its targets for each request
def _parse(text: str) -> list[Target]:
    targets = []
    for name, entry in tomllib.loads(text).items():
        fields = entry if isinstance(entry, dict) and "name" not in entry else {"entry": entry}  # validation refuses it
        targets.append(Target.model_validate({"parent": None if name == ROOT else ROOT} | fields | {"name": name}))
    return targets
