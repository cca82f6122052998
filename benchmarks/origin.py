"""The origin of a result: date, commit, device and versions; and the file that holds both."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("kb-hardware", "torch", "sentence-transformers", "onnxruntime", "chromadb")


def origin(libraries: Sequence[str] = LIBRARIES) -> dict:
    """Date, commit, device and versions."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "device": ", ".join(filter(None, (_gpu(), f"{platform.machine()} CPU", f"{os.cpu_count()} cores"))),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in libraries},
    }


def write_result(out: Path | None, result: dict, libraries: Sequence[str] = LIBRARIES) -> None:
    """Write a result with its origin to `out`, or to standard output."""
    text = json.dumps(origin(libraries) | result, indent=2)
    if out:
        out.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


def say_nothing(done: int, total: int) -> None:
    """The progress of a benchmark that shows none."""


def _gpu() -> str:
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
