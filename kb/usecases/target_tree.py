"""Shows and changes the tree of targets of a home; their documents, facts, skills and runs follow."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kb.catalog import storage_errors, write_lock
from kb.targets import Targets
from kb.types.target import Dependents, TargetDetails
from kb.usecases.home import Home


class TargetTree:
    """The targets of a home. Only those that the home added can be changed.

    The methods that change something raise StoreError if the home cannot be written, or another process is writing it.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    def details(self, name: str) -> TargetDetails:
        """One target. Raises TargetError if it is unknown."""
        targets, counts = self._home.targets, self._home.catalog.count_by_target()
        scope, lineage = targets.scope(name), targets.lineage(name)
        return TargetDetails(
            **dict(targets.get(name)),
            lineage=lineage,
            descendants=tuple(sorted(scope - set(lineage))),
            documents={t: counts[t] for t in sorted(scope) if t in counts},
        )

    def add(self, name: str, *, parent: str, title: str = "", aliases: Sequence[str] = ()) -> None:
        """Add a target.

        Raises:
            TargetError: the name or an alias is taken or malformed, or the parent is unknown.
        """
        with self._changing() as targets:
            self._save(targets.with_new(name, parent=parent, title=title, aliases=aliases))

    def add_aliases(self, name: str, aliases: Sequence[str]) -> None:
        """Give a target more names. Raises TargetError if it cannot be changed, or an alias is taken."""
        with self._changing() as targets:
            self._save(targets.with_aliases(name, aliases))

    def move(self, name: str, parent: str) -> None:
        """Give a target another parent. Raises TargetError if it cannot be changed, or `parent` is below it."""
        with self._changing() as targets:
            self._save(targets.with_parent(name, parent))

    def dependents(self, name: str) -> Dependents:
        """What depends on a target that can be removed. Raises TargetError if it cannot be changed."""
        home, own = self._home, self._home.targets.must_be_own(name).name
        return Dependents(
            target=own,
            children=tuple(t.name for t in home.targets if t.parent == own),
            **home.catalog.count_of_target(own),
            skills=tuple(skill.name for skill in home.skills.skills(scope=frozenset({own})) if skill.target != "any"),
            runs=tuple(run.id for run in home.runs if (t := home.targets.find(run.plan.target)) and t.name == own),
        )

    def remove(self, name: str) -> Dependents:
        """Remove a target with its documents and the facts about it; return what depended on it.

        Its skills and runs stay, and are found again when a target has the name or alias again.

        Raises:
            TargetError: it cannot be changed, or it has children.
        """
        with self._changing() as targets:
            lost = self.dependents(name)
            left = targets.without(name)
            self._home.catalog.remove_target(lost.target)
            self._save(left)
            self._home.catalog.drop_unused_vectors()
            self._home.models.publish_index()
        return lost

    @contextmanager
    def _changing(self) -> Iterator[Targets]:
        """Hold the home's lock, and give the targets as they are on disk: another process may have added some."""
        folder = self._home.settings.home
        with write_lock(folder), storage_errors(folder):
            self._home.targets = Targets.load(folder)
            yield self._home.targets

    def _save(self, targets: Targets) -> None:
        targets.save()
        self._home.targets = targets
