"""Runs Python without root's right to ignore file permissions: `confined.py [--file-limit BYTES] ARGUMENTS...`.

An ordinary user has no such right, so the same test holds for both.
"""

import ctypes
import os
import resource
import sys

PR_CAPBSET_DROP = 24
"""include/uapi/linux/prctl.h"""
CAPABILITIES = (1, 2, 3)
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER (include/uapi/linux/capability.h); gone with the next exec."""

arguments = sys.argv[1:]
if arguments[0] == "--file-limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(arguments[1]), int(arguments[1])))
    arguments = arguments[2:]
if sys.platform == "linux" and os.geteuid() == 0:
    for capability in CAPABILITIES:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *arguments])
