"""Tell a cheat from an accident: what also happens to honest candidates counts only if it happens often."""

from collections import deque

LOOKS, EACH, MOST = 200, 60, 3
"""How many looks are remembered; in how many of them one may see something; in how many of all. A timed call takes six
looks, so this is one call in ten, and changes no median."""


class RateLimit:
    """Counts in how many of the last looks something was seen."""

    def __init__(self) -> None:
        self._seen: deque[bool] = deque(maxlen=LOOKS)

    def exceeded(self, *, seen: bool) -> bool:
        """Whether it was seen more than rarely, this time included."""
        self._seen.append(seen)
        return sum(self._seen) > min(MOST, 1 + len(self._seen) // EACH)
