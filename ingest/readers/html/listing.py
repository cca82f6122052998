"""Listings in HTML: their code, without the line numbers that pages put beside it in many ways."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import islice
from typing import Literal

from selectolax.lexbor import LexborNode

from ingest.readers.html.text import UNSEEN_CLASSES, children, classes, path, unmarked

_NO_CODE = {"button", "script", "style"}
_LINES = {"div", "li", "tr"}
"""Elements that are a line of code each."""
_AROUND_LINES = _LINES | {"ol", "ul", "table", "thead", "tbody"}
_LANGUAGE = re.compile(r"(?:highlight-source|highlight|language|lang)-([\w+#.-]+)")
_NO_LANGUAGE = {"default", "none", "text", "notranslate"}
_BESIDE_LEVELS = 4
"""Elements around a listing among whose neighbours its line numbers are looked for."""
_IS_GUTTER = re.compile(r"gutter|num|line", re.IGNORECASE)
_IS_CODE = re.compile(r"code|highlight", re.IGNORECASE)


def code_of(node: LexborNode, left_out: Set[int] = frozenset()) -> Iterator[str]:
    """Yield the pieces of the code in `node`, without the nodes with these ids."""
    for child in children(node):
        if child.is_text_node:
            text = child.text_content or ""
            yield text if text.strip() or node.tag not in _AROUND_LINES else ""
        elif child.tag == "br":
            yield "\n"
        elif child.tag not in _NO_CODE and child.mem_id not in left_out and not classes(child) & UNSEEN_CLASSES:
            yield from code_of(child, left_out)
            yield "\n" * (child.tag in _LINES)


def language_of(node: LexborNode) -> str:
    """The language that a class of the listing, or of an element around it, names."""
    for place in filter(None, [node.css_first("code"), *islice(path(node), 3)]):
        for name in classes(place):
            if (found := _LANGUAGE.fullmatch(name)) and found[1] not in _NO_LANGUAGE:
                return found[1]
    return ""


def line_numbers(root: LexborNode) -> tuple[set[int], set[int]]:
    """The ids of the nodes that hold line numbers of listings, and of the tables whose rows are lines of code."""
    listings = root.css("pre")
    numbers = {node.mem_id for listing in listings for node in (*_inside(listing), *_beside(listing, root))}
    tables = set()
    for table in root.css("table"):
        if table.css_first("pre") is None and (beside := _of_rows(table)):
            tables.add(table.mem_id)
            numbers |= beside
    return numbers, tables


def _inside(listing: LexborNode) -> list[LexborNode]:
    """The elements of one class that begin the lines of a listing and hold only their numbers."""
    found: dict[tuple[str, ...], list[tuple[LexborNode, int, bool]]] = defaultdict(list)
    begins = True

    def walk(node: LexborNode) -> None:
        nonlocal begins
        for child in children(node):
            text = unmarked(child.text_content or "" if child.is_text_node else child.text() or "")
            names = {re.sub(r"\d+", "", name) for name in classes(child)}
            if child.is_text_node:
                *above, last = text.split("\n")
                begins = (begins or bool(above)) and not last.strip()
            elif names and text.strip(" \t\n.:|").isdecimal():
                found[child.tag or "", *sorted(names)].append((child, int(text.strip(" \t\n.:|")[:9]), begins))
                begins = begins or "\n" in text
            else:
                walk(child)
                begins = begins or child.tag == "br" or child.tag in _LINES

    walk(listing)
    if not re.search(r"[^\W\d]", unmarked(listing.text() or "")):
        return []  # numbers are all that it holds
    numbered = [group for group in found.values() if all(begin for *_, begin in group)]
    return [node for group in numbered if _are_lines([number for _, number, _ in group]) for node, *_ in group]


def _beside(listing: LexborNode, root: LexborNode) -> list[LexborNode]:
    """The element beside a listing that holds as many numbers as that has lines."""
    lines = unmarked("".join(code_of(listing))).strip("\n").count("\n") + 1
    for place in islice(path(listing), _BESIDE_LEVELS):
        if place.parent is None or place.mem_id == root.mem_id or place.tag in ("li", "main", "article", "section"):
            break
        for other in (_neighbour(place, "prev"), _neighbour(place, "next")):
            if other is not None and _counts(other, lines):
                return [other]
    return []


def _neighbour(node: LexborNode, side: Literal["prev", "next"]) -> LexborNode | None:
    other: LexborNode | None = getattr(node, side)
    while other is not None and not other.is_element_node:
        other = getattr(other, side)
    return other


def _counts(node: LexborNode, lines: int) -> bool:
    """Whether an element holds only the numbers of so many lines."""
    texts = unmarked(node.text(separator=" ") or "").split()
    if not texts or abs(len(texts) - lines) > 1 or not all(text.isdecimal() for text in texts):
        return False
    names = " ".join(name for part in (node, *islice(children(node), 3)) for name in classes(part))
    may_be_output = node.tag not in ("td", "th") and node.css_first("pre") is not None
    is_plain = bool(names) and not may_be_output and _are_lines([int(text[:9]) for text in texts])
    return is_plain or bool(_IS_GUTTER.search(names))


def _of_rows(table: LexborNode) -> set[int]:
    """The ids of the cells with line numbers in a table whose rows are lines of code; empty if it is none."""
    rows = [[cell for cell in children(row) if cell.tag in ("td", "th")] for row in table.css("tr")]
    if any(len(cells) != 2 or not classes(cells[0]) for cells in rows):
        return set()
    texts = [
        unmarked(first.text() or "").strip() or first.attributes.get("data-line-number") or "" for first, _ in rows
    ]
    named = (" ".join([*classes(table), *classes(code), *classes(code.first_child or code)]) for _, code in rows)
    is_code = all(map(_IS_CODE.search, named)) and all(text.isdecimal() for text in texts)
    return {first.mem_id for first, _ in rows} if is_code and _are_lines([int(t[:9]) for t in texts]) else set()


def _are_lines(numbers: Sequence[int]) -> bool:
    return len(numbers) > 1 and all(number == numbers[0] + at for at, number in enumerate(numbers))
