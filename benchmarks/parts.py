"""Measure a result part by part: each is written at once, and the same command goes on where it stopped."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def measure_parts(
    head: dict[str, Any],
    parts: Mapping[str, Callable[[], dict[str, Any]]],
    out: Path | None,
    minutes: float | None,
    whole: Callable[[Sequence[dict[str, Any]]], dict[str, Any]] = lambda found: {},
) -> None:
    """Write `head`, under "parts" what each of them found, and what `whole` makes of those that are there.

    Args:
        head: Origin and settings. The parts of a file with another head, such as another commit, are measured again.
        out: The file that is written after each part. A part in which "error" stands there is measured again.
        minutes: No part begins after that time; None for no limit.
    """
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    known = json.loads(out.read_text(encoding="utf-8")) if out and out.exists() else {}
    same = all(known.get(name) == value for name, value in head.items() if name != "date")
    done = {name: found for name, found in known.get("parts", {}).items() if same and "error" not in found}
    for name, measure in parts.items():
        if name not in done and time.monotonic() < deadline:
            done[name] = measure()
            total = whole(list(done.values()))
            print(name, done[name], total or "", flush=True)
            if out:
                out.write_text(json.dumps(head | total | {"parts": done}, indent=1) + "\n", encoding="utf-8")
