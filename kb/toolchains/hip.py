"""Compiles HIP to assembly with the clang of ziglang. It then assembles and links it, so that nothing is missing.

Usage: hip.py ARCHITECTURE CANDIDATE ASSEMBLY FOLDER_OF_HEADERS...
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

architecture, candidate, assembly, *folders = sys.argv[1:]
zig = Path(find_spec("ziglang").origin).parent
headers = ("-ffreestanding", "-nostdlibinc", "-resource-dir", zig / "lib", *(f"-I{folder}" for folder in folders))
without_rocm = ("-nogpuinc", "-nogpulib", "-fno-crash-diagnostics")
hip = ("clang", "-x", "hip", candidate, "-std=c++17", "-O3", "-fPIC", f"--offload-arch={architecture}", *without_rocm)
device = ("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={architecture}")
for command in (
    (*hip, *headers, "--offload-device-only", "-S", "-o", assembly),
    (*device, "-x", "assembler", assembly, "-c", "-o", "device.o"),
    ("ld.lld", "-shared", "--no-undefined", "device.o", "-o", "device.so"),
    (*hip, *headers, "--offload-host-only", "-c", "-o", "host.o"),
    ("ld.lld", "-shared", "--defsym=entry=model_new", "host.o", "-o", "host.so"),
):
    if status := subprocess.run([zig / "zig", *command], check=False).returncode:
        sys.exit(status)
