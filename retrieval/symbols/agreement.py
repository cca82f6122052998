"""Whether documents agree on a name: their signatures, and the keywords that calls use."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kb.catalog.symbols import NamingDocument
from kb.types.base import short
from kb.types.edition import Edition, is_same_product
from kb.types.records import Trust
from kb.types.symbols import SymbolKind
from retrieval.symbols.occurrences import Occurrence
from retrieval.symbols.signatures import Signature

INSIDE_CHARACTERS = 160
"""Longest list of parameters in a note."""
SIDES_SHOWN = 3
"""Most differing statements that a note gives."""


@dataclass(frozen=True, slots=True)
class Use:
    document: NamingDocument
    occurrence: Occurrence


@dataclass(frozen=True)
class Agreement:
    """The uses of one name in the documents of one target."""

    name: str
    uses: Sequence[Use]

    @cached_property
    def statements(self) -> list[tuple[Use, Signature]]:
        """The signatures that documents state of the interface, the newest first where that is known.

        A definition with a body counts if only one document has one: every example may define its own `main`. `f()` in
        a text is how people write the name `f`. Untrusted documents have no say.
        """
        trusted = (use for use in self.uses if use.document.trust != Trust.UNTRUSTED)
        found = [(use, use.occurrence.signature) for use in trusted if use.occurrence.signature is not None]
        stated = [(u, s) for u, s in found if s.parameters and u.occurrence.kind is not SymbolKind.CALL]
        bodies = {u.document.id for u, _ in stated if u.occurrence.has_body}
        kept = [(u, s) for u, s in stated if not u.occurrence.has_body or len(bodies) == 1]
        return sorted(kept, key=lambda one: sum(is_newer(other.document, one[0].document) for other, _ in kept))

    def notes(self) -> Iterator[str]:
        """What a reader must know: differing signatures, and keywords that no signature has."""
        sides = self._sides()
        if len(sides) > 1:
            said = "; ".join(f"{label(u.document)}: {self.stated(s)}" for u, s in sides[:SIDES_SHOWN])
            is_dated = is_newer(sides[0][0].document, sides[1][0].document)
            order = "the newest first" if is_dated else "which of them is newer is not known"
            yield f"documents disagree on {self.name}: {said} ({order})"
        yield from dict.fromkeys(filter(None, map(self._outdated, self.uses)))

    def _outdated(self, use: Use) -> str:
        """Says of a call which of its keywords no newest signature has: `uses f(k=), which ... no longer has`.

        Empty if the call uses none such, or if the signature may be of something else with the same name.
        """
        if not use.occurrence.keywords:
            return ""
        stated = [(u, s) for u, s in self.statements if self._is_of_same(use.occurrence, u)]
        if (
            not stated
            or any(s.is_open or s.is_typed for _, s in stated)
            or use.document.id in {u.document.id for u, _ in stated}
        ):
            return ""
        newest = stated[0][0].document
        judges = [(u, s) for u, s in stated if not is_newer(newest, u.document)]
        known = {name for _, s in judges for name in s.parameters or ()}
        unknown = ", ".join(f"{keyword}=" for keyword in use.occurrence.keywords if keyword not in known)
        if is_newer(use.document, newest) or not unknown:
            return ""
        has_not = "no longer has" if is_newer(newest, use.document) else "does not have"
        return f"{label(use.document)} uses {self.name}({unknown}), which {label(newest)} {has_not}"

    def _sides(self) -> list[tuple[Use, Signature]]:
        """The first statement of each document that agrees with none of the documents before it."""
        stated: dict[int, list[tuple[Use, Signature]]] = {}
        for use, signature in self.statements:
            stated.setdefault(use.document.id, []).append((use, signature))
        sides: list[list[tuple[Use, Signature]]] = []
        for own in stated.values():
            if not any(_agree(own, other) for other in sides):
                sides.append(own)
        return [side[0] for side in sides]

    def stated(self, signature: Signature) -> str:
        """The name with its parameters."""
        return f"{self.name}({short(signature.inside, INSIDE_CHARACTERS)})"

    def _is_of_same(self, call: Occurrence, statement: Use) -> bool:
        """Whether a call means the stated function: its qualifier is known to the document of the statement."""
        if not call.qualifier or call.qualifier == statement.occurrence.qualifier:
            return True
        return f"{call.qualifier}{self.name}" in statement.document.text


def _agree(own: Sequence[tuple[Use, Signature]], other: Sequence[tuple[Use, Signature]]) -> bool:
    """Whether two documents have a signature in common, or are of one edition and state overloads."""
    ours, theirs = own[0][0].document, other[0][0].document
    is_one_edition = ours.version == theirs.version != "" and is_same_product(ours.path, theirs.path)
    return is_one_edition or any(a.agrees_with(b) for _, a in own for _, b in other)


def by_target(name: str, uses: Iterable[Use]) -> list[Agreement]:
    """The uses of a name, for each target apart: two chips may each have their own `load`."""
    groups: dict[str, list[Use]] = {}
    for use in uses:
        groups.setdefault(use.document.target, []).append(use)
    return [Agreement(name, own) for own in groups.values()]


def is_newer(one: NamingDocument, other: NamingDocument) -> bool:
    """Whether `one` is certainly the newer document."""
    if not (one.version and other.version):
        return False
    ours, theirs = Edition.read(one.version), Edition.read(other.version)
    return ours.is_newer_than(theirs, same_product=is_same_product(one.path, other.path))


def label(document: NamingDocument) -> str:
    """The end of a document's path, with its edition."""
    end = "/".join(document.path.split("/")[-2:])
    return f"{end} of {document.version}" if document.version else end
