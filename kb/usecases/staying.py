"""Whether a judge stays for the next command of a home, and which commands it serves."""

import os
import sys

from eval.batch.pack import code_digest
from eval.judge.staying import Stay, socket_path
from eval.machine import usable_cores
from kb.types.kernels import digest_of
from kb.usecases.home import Home

PER_COMMAND = {"_", "SHLVL", "PWD", "OLDPWD"}
"""Environment variables that differ between commands of the same shell."""


def stay_of(home: Home) -> Stay | None:
    """Where a judge stays; None if the settings want none, or no folder keeps others away from it."""
    waits_s = home.settings.judge_stays_s
    path = socket_path(home.settings.home) if waits_s else None
    if path is None:
        return None
    inherited = sorted((name, value) for name, value in os.environ.items() if name not in PER_COMMAND)
    return Stay(path, waits_s, digest_of(repr((code_digest(), sys.executable, inherited, usable_cores()))))
