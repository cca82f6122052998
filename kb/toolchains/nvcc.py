"""Compiles CUDA C++ with the compiler of NVIDIA's packages, and writes the assembly, PTX and resources of its kernels.

Usage: nvcc.py ARCHITECTURE FOLDER_OF_HEADERS CANDIDATE ASSEMBLY
"""

import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

architecture, headers, candidate, assembly = sys.argv[1:]
library = f"{assembly}.so"
tools = next(Path(file.locate()).parent for file in files("nvidia-cuda-nvcc") or () if file.name == "nvcc")
compiled = subprocess.run(
    [
        tools / "nvcc", "-std=c++17", "-O3", "-shared", "-Xcompiler", "-fPIC", "-Xlinker", "--require-defined=model_new",
        "-gencode", f"arch=compute_{architecture}a,code=[sm_{architecture}a,compute_{architecture}a]",
        "--resource-usage", f"-I{headers}", "-o", library, candidate,
    ],
    stderr=subprocess.PIPE, text=True, check=False,
)  # fmt: skip
if compiled.returncode:
    sys.exit(compiled.stderr)
dump = ("--dump-resource-usage", "--dump-sass", "--dump-ptx")
with Path(assembly).open("w", encoding="utf-8") as file:
    file.write(compiled.stderr)
    file.flush()
    sys.exit(subprocess.run([tools / "cuobjdump", *dump, library], stdout=file, check=False).returncode)
