"""The origin of a result: date, commit, device and versions."""

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import version

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


def _gpu() -> str:
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
