"""Compiles HIP with the clang of ziglang to assembly, then assembles and links it, so that all that it names is there.

Usage: hip.py ARCHITECTURE FOLDERS_OF_HEADERS CANDIDATE ASSEMBLY
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

*architecture_and_folders, candidate, assembly = sys.argv[1:]
architecture, *folders = architecture_and_folders
ZIG = Path(find_spec("ziglang").origin).parent
HIP = (
    "clang", "-x", "hip", candidate, "-std=c++17", "-O3", "-fPIC", "-nogpuinc", "-nogpulib", "-fno-crash-diagnostics", f"--offload-arch={architecture}",
    "-ffreestanding", "-nostdlibinc", "-resource-dir", ZIG / "lib", *(f"-I{folder}" for folder in folders),
)  # fmt: skip
COMMANDS = (
    (*HIP, "--offload-device-only", "-S", "-o", assembly),
    ("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={architecture}", "-c", "-x", "assembler", assembly, "-o", "device.o"),
    ("ld.lld", "-shared", "--no-undefined", "device.o", "-o", "device.so"),
    (*HIP, "--offload-host-only", "-c", "-o", "host.o"),
    ("ld.lld", "-shared", "--defsym=entry=model_new", "host.o", "-o", "host.so"),
)
for command in COMMANDS:
    if status := subprocess.run([ZIG / "zig", *command], check=False).returncode:
        sys.exit(status)
