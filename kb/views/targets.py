"""The targets and how many documents each has."""

from typing import TYPE_CHECKING

from kb.types.base import Frozen
from kb.views.response import Listing, view_of

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.usecases.knowledge_base import KnowledgeBase


class KnownTarget(Frozen):
    name: str
    parent: str | None
    title: str
    aliases: tuple[str, ...]
    documents: int
    """Number of its own documents."""


class KnownTargets(Listing):
    of = "targets"
    named = "name"
    targets: tuple[KnownTarget, ...]


def targets(kb: "KnowledgeBase", *, everything: bool = True) -> KnownTargets:
    """The targets with documents of their own; with `everything`, or if there are none, all others after them."""
    counts = kb.catalog.count_by_target()
    known = [
        view_of(KnownTarget, t, documents=counts.get(t.name, 0))
        for t in sorted(kb.targets, key=lambda t: t.name not in counts)
        if everything or not counts or t.name in counts
    ]
    return KnownTargets(targets=tuple(known))
