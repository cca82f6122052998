"""Tell a cheat from an accident: what also happens to honest candidates counts only if it happens often."""

from collections import deque

WINDOW, TOLERATED_AT_FIRST, TOLERATED, LOOKS_PER_EVENT = 200, 1, 3, 60
"""An event may be seen once in fewer than 60 looks, twice in fewer than 120, and three times in any 200. The judge
looks six times in a timed call, so at most one call in ten is disturbed, and no median changes."""


class RateLimit:
    """Counts in how many of the last looks an event was seen."""

    def __init__(self) -> None:
        self._looks: deque[bool] = deque(maxlen=WINDOW)

    def exceeded(self, *, seen: bool) -> bool:
        """Add a look; whether the event has now been seen more often than is tolerated."""
        self._looks.append(seen)
        tolerated = min(TOLERATED, TOLERATED_AT_FIRST + len(self._looks) // LOOKS_PER_EVENT)
        return sum(self._looks) > tolerated
