"""Which documents may answer a question: those of its target's scope, or what the asker limits it to."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kb.catalog import Catalog
from kb.targets import Targets
from kb.types.passages import SearchFilter
from retrieval.terms import states_amount


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents that a question is answered from."""

    target: str | None
    """As the asker names it; None: all documents."""
    targets: frozenset[str] | None
    """Targets whose documents are searched; None: all."""
    stored: frozenset[str] = frozenset()
    """Those of them that have documents."""
    chips: tuple[str, ...] = ()
    """Chips of the family `target` that the question names: only they are searched."""
    others: tuple[str, ...] = ()
    """Targets with documents that the question names and that are not searched."""
    chip: str | None = None
    """The one chip that the question is about; None if it may be about several."""
    chunks: frozenset[int] | None = None
    """Only these chunks may be found. None: all chunks of these documents."""

    @property
    def notes(self) -> Iterator[str]:
        """What is not searched although the question or its target could mean it; of chips, those that are."""
        if self.chips:
            yield f"kb searched only {' and '.join(self.chips)} of {self.target}"
        yield from (f"{name} is another target: search for it with --target {name}" for name in self.others)


def scope_of(
    catalog: Catalog,
    targets: Targets,
    phrasings: Sequence[str],
    *,
    target: str | None,
    compare: bool = False,
    chunks: frozenset[int] | None = None,
) -> Scope:
    """The scope of a question. Raises TargetError if `target` is unknown.

    Args:
        target: See `Scope.target`.
        compare: Also search the target's siblings.
        chunks: See `Scope.chunks`.
    """
    counts = catalog.count_by_target().keys()
    if target is None or compare:
        searched = targets.family(target) if target else None
        chips: tuple[str, ...] = ()
        others: tuple[str, ...] = ()
    else:
        chips = targets.named_below(target, " ".join(phrasings))
        searched = frozenset().union(*map(targets.scope, chips or (target,)))
        others = tuple(sorted(targets.named(phrasings[0]) & counts - targets.scope(target)))
    about = chips or ([target] if target else sorted(targets.named(phrasings[0])))
    return Scope(
        target=target,
        targets=searched,
        stored=frozenset(counts if searched is None else counts & searched),
        chips=chips,
        others=others,
        chip=about[0] if len(about) == 1 and not (compare or others) else None,
        chunks=chunks,
    )


def filtered_chunks(catalog: Catalog, only: SearchFilter, paths: Collection[str] | None) -> frozenset[int]:
    """The chunks that a search is limited to; `paths` are those of the documents in `only.within` (None: all)."""
    seen = {place[1] for key in only.seen if (place := catalog.place(key.partition(".")[0]))}
    return frozenset(
        chunk
        for chunk, (kind, text) in catalog.chunks_of(paths).items()
        if chunk not in seen and (not only.numbers or kind == "table" or states_amount(text))
    )
