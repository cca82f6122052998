"""How many requests one sender may make in a time."""

from time import monotonic

SENDERS = 4096
"""Beyond so many, those are forgotten who have not sent for a while."""


class Rate:
    """Each sender may make `burst` requests at once, and `per_s` a second in the long run (a token bucket)."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s, self._ahead_s = per_s, (burst - 1) / per_s
        self._due_s: dict[str, float] = {}  # when the next request would be due, at an even pace

    def wait_s(self, sender: str) -> float:
        """Counts a request, and returns 0; or the seconds until the sender may make it, and then it does not count."""
        now = monotonic()
        due = max(self._due_s.get(sender, now), now)
        if (wait := due - now - self._ahead_s) > 0:
            return wait
        if len(self._due_s) >= SENDERS:
            self._due_s = {one: at for one, at in self._due_s.items() if at > now}
        self._due_s[sender] = due + 1 / self._per_s
        return 0.0
