"""Group neighbours that belong together."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def grouped(items: Iterable[T], goes_on: Callable[[list[T], T], bool]) -> Iterator[list[T]]:
    """Yield `items` in groups, in order: an item joins the group before it if `goes_on(group, item)`."""
    group: list[T] = []
    for item in items:
        if group and not goes_on(group, item):
            yield group
            group = []
        group.append(item)
    if group:
        yield group
