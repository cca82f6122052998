"""Bear what happens to honest candidates too, as long as it is rare."""

from collections import deque

LOOKS, MOST = 200, 3
"""Of so many looks the last ones may find so much: it is less than one in thirty timed calls, and changes no median."""


class Rarely:
    """Counts in how many of the last looks something was seen."""

    def __init__(self) -> None:
        self._seen: deque[bool] = deque(maxlen=LOOKS)

    def is_more(self, *, seen: bool) -> bool:
        """Whether it was seen more than rarely, this time included."""
        self._seen.append(seen)
        return sum(self._seen) > MOST
