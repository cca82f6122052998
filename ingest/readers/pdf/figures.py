"""The pictures of a page that may hold text, each as a reader sees it."""

from collections.abc import Sequence

from ingest.readers.pdf.lines import Figure
from ingest.readers.pdf.page import Box, Page

_SMALLEST, _SMALLEST_SHARE, _LARGE_SHARE = 24.0, 0.01, 0.1
"""A smaller picture is an icon: its sides in points, its share of the page. In a table, only a large one counts."""
_TOUCH = 1.0
_MOST_IMAGES = 500
"""A page with more images is drawn from them."""


def figures_of(page: Page, tables: Sequence[Box]) -> list[Figure]:
    """Return the pictures of a page; strips that together make a picture are one."""
    found: list[Box] = []
    for image in sorted(page.images[:_MOST_IMAGES], key=lambda box: (box.y0, box.x0)):
        strip = next((i for i, box in enumerate(found) if _is_one_picture(box, image)), None)
        if strip is None:
            found.append(image)
        else:
            box = found[strip]
            found[strip] = Box(
                min(box.x0, image.x0), min(box.y0, image.y0), max(box.x1, image.x1), max(box.y1, image.y1)
            )
    return [Figure(box) for box in found if _may_hold_text(box, page.area, tables)]


def _is_one_picture(box: Box, other: Box) -> bool:
    """Whether one box lies in the other, or both continue each other with sides of equal length."""
    if _overlap(box, other) >= 0.9 * min(box.size, other.size):
        return True
    is_column = max(abs(box.x0 - other.x0), abs(box.x1 - other.x1)) <= _TOUCH
    is_row = max(abs(box.y0 - other.y0), abs(box.y1 - other.y1)) <= _TOUCH
    return (is_column and abs(other.y0 - box.y1) <= _TOUCH) or (is_row and abs(other.x0 - box.x1) <= _TOUCH)


def _overlap(box: Box, other: Box) -> float:
    width = min(box.x1, other.x1) - max(box.x0, other.x0)
    height = min(box.y1, other.y1) - max(box.y0, other.y0)
    return max(0.0, width) * max(0.0, height)


def _may_hold_text(box: Box, page: Box, tables: Sequence[Box]) -> bool:
    if min(box.x1 - box.x0, box.y1 - box.y0) < _SMALLEST or box.size < _SMALLEST_SHARE * page.size:
        return False
    return box.size >= _LARGE_SHARE * page.size or not any(_overlap(box, table) for table in tables)
