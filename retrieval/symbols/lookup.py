"""Looks up an identifier: where documents define, list, call and mention it, and whether they agree."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from math import ceil
from operator import itemgetter
from pathlib import PurePosixPath

from kb.catalog import Catalog
from kb.catalog.symbols import NamingDocument
from kb.errors import QueryError, did_you_mean
from kb.targets import Targets
from kb.types.base import short
from kb.types.edition import Edition, are_nested, product_folder
from kb.types.records import Trust
from kb.types.symbols import SymbolKind, SymbolPlace, SymbolReport
from retrieval.names import nearest_names
from retrieval.symbols.agreement import Use, by_target
from retrieval.symbols.occurrences import occurrences

SOURCE_CODE = "code"
"""The format of documents that are source code."""
PLAIN_RANK = 1
"""Definitions up to this rank are plain ones: a heading, a signature, a definition in code."""
SHARES = {SymbolKind.DEFINITION: 0.5, SymbolKind.ROW: 0.25, SymbolKind.CALL: 0.15, SymbolKind.MENTION: 0.1}
"""The most that each kind takes of the places shown."""
NOTES_SHOWN = 5
TEXT_CHARACTERS = 160
"""Longest text of a place."""
LEAST_LAST_PART = 3
"""Fewest letters of the last part of a dotted name that is looked up by itself."""


def look_up(catalog: Catalog, targets: Targets, name: str, *, target: str | None, limit: int) -> SymbolReport:
    """The places of an identifier, best first.

    Args:
        name: As code writes it; `nki.isa.nc_matmul` also finds the definition of `nc_matmul` in a document about
            `nki.isa`, and `nc_matmul` finds `nki.isa.nc_matmul`.
        target: Look into the documents of this target, its ancestors and its descendants (default: all documents).
        limit: Most places.

    Raises:
        QueryError: `name` is no identifier, or no document has it (the hint names similar ones).
        TargetError: `target` is unknown.
    """
    name = name.strip().strip("`").removesuffix("()")
    if not re.search(r"\w", name) or re.search(r"\s", name):
        raise QueryError(f"{name!r} is not an identifier", hint="`kb search` answers questions")
    scope = targets.scope(target) if target else None
    uses = uses_of(catalog, name, targets=scope)
    if not uses:
        raise _unknown(catalog, name, target=targets.get(target).name if target else "", scope=scope)
    kinds = {kind: [use for use in uses if use.occurrence.kind is kind] for kind in SymbolKind}
    shown = [use for kind, own in kinds.items() for use in own[: ceil(limit * SHARES[kind])]][:limit]
    notes = [note for agreement in by_target(name, uses) for note in agreement.notes()]
    if len(uses) == 1:
        notes.append(f"only one place names {name}")
    return SymbolReport(
        name=name,
        places=tuple(_place(catalog, use) for use in shown),
        found={kind: len(own) for kind, own in kinds.items() if own},
        notes=tuple(notes[:NOTES_SHOWN]),
    )


def uses_of(catalog: Catalog, name: str, *, targets: Collection[str] | None) -> list[Use]:
    """Every use of a name, definitions first, newer documents first; in any case if none has this spelling."""
    documents = catalog.documents_naming(name, targets=targets)
    uses = _uses(documents, name) or _uses(documents, name, ignore_case=True)
    qualifier, last = _parted(name)
    if qualifier and not any(map(_is_plain_definition, uses)):
        uses += _unqualified(catalog, qualifier, last, targets={u.document.target for u in uses} or targets)
    older = _older(uses)
    nth: Counter[tuple[int, SymbolKind]] = Counter()
    keyed = []
    for use in uses:
        own = (use.document.id, use.occurrence.kind)
        keyed.append((_order(use, name, older, nth[own]), use))
        nth[own] += 1
    return [use for _, use in sorted(keyed, key=itemgetter(0))]


def _unqualified(catalog: Catalog, qualifier: str, name: str, *, targets: Collection[str] | None) -> list[Use]:
    """Where documents about `qualifier` state an unqualified name; if none does, where others state its interface."""
    uses = [u for u in _uses(catalog.documents_naming(name, targets=targets), name) if not u.occurrence.qualifier]
    stated = [u for u in uses if u.occurrence.kind in (SymbolKind.DEFINITION, SymbolKind.ROW)]
    about = re.compile(rf"(?<![A-Za-z0-9]){re.escape(qualifier)}(?![A-Za-z0-9])", re.IGNORECASE)
    return [u for u in stated if about.search(f"{u.document.path} {u.document.title}")] or [
        u for u in stated if _is_plain_definition(u) and not u.occurrence.has_body
    ]


def _uses(documents: Sequence[NamingDocument], name: str, *, ignore_case: bool = False) -> list[Use]:
    uses: list[Use] = []
    for document in documents:
        is_code = document.format == SOURCE_CODE
        found = occurrences(document.text, name, is_code=is_code, ignore_case=ignore_case)
        # The reader made headings of the definitions below them.
        is_twice = is_code and any(one.kind is SymbolKind.DEFINITION and not one.in_heading for one in found)
        uses += (Use(document, one) for one in found if not (is_twice and one.in_heading))
    return uses


def _is_plain_definition(use: Use) -> bool:
    return use.occurrence.kind is SymbolKind.DEFINITION and use.occurrence.rank <= PLAIN_RANK


def _parted(name: str) -> tuple[str, str]:
    """The last qualifier and the last part of a dotted name; empty if the last part says nothing by itself."""
    *qualifiers, last = re.split(r"\.|::", name)
    return (qualifiers[-1] if qualifiers and len(last) >= LEAST_LAST_PART else "", last)


def _older(uses: Sequence[Use]) -> dict[int, int]:
    """For each document, how many of the others are newer."""
    found = {use.document.id: use.document for use in uses if use.document.version}
    groups = Counter((d.version, product_folder(d.path)) for d in found.values())
    editions = {(version, folder): Edition.read(version) for version, folder in groups}
    newer = {
        own: sum(
            groups[other]
            for other in groups
            if other != own and editions[other].is_newer_than(editions[own], same_product=are_nested(own[1], other[1]))
        )
        for own in groups
    }
    return {d.id: newer[d.version, product_folder(d.path)] for d in found.values()}


def _order(use: Use, name: str, older: dict[int, int], nth: int) -> tuple[object, ...]:
    """Sort key: how plain, how new, how near to the name; calls and mentions of many documents before many of one."""
    occurrence, document = use.occurrence, use.document
    is_used = occurrence.kind in (SymbolKind.CALL, SymbolKind.MENTION)
    is_code = document.format == SOURCE_CODE
    is_declared = is_code and occurrence.signature is not None and not occurrence.has_body
    is_own = name.lower() in (document.title.lower(), PurePosixPath(document.path).stem.lower())
    return (
        list(SymbolKind).index(occurrence.kind),
        occurrence.rank > PLAIN_RANK,
        older.get(document.id, 0),
        0 if is_declared and occurrence.rank == PLAIN_RANK else occurrence.rank,
        nth if is_used else 0,
        not (is_own or is_declared),
        occurrence.has_body,
        not is_code,
        document.path,
        occurrence.start,
    )


def _place(catalog: Catalog, use: Use) -> SymbolPlace:
    return SymbolPlace(
        kind=use.occurrence.kind,
        citation=catalog.citation_at(use.document, use.occurrence.start),
        target=use.document.target,
        edition=use.document.version,
        trust=Trust(use.document.trust),
        text=short(use.occurrence.text, TEXT_CHARACTERS),
    )


def _unknown(catalog: Catalog, name: str, *, target: str, scope: Collection[str] | None) -> QueryError:
    counts = catalog.count_by_target().keys()
    near = nearest_names(catalog, name, targets=counts if scope is None else counts & scope)
    where = f"no document of {target}" if target else "no document"
    return QueryError(f"{where} names {name}", hint=f"{did_you_mean(near)}`kb search` also finds other spellings")
