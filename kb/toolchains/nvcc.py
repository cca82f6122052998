"""Compiles CUDA C++ with NVIDIA's packages. Writes what ptxas says of each kernel, its assembly and its PTX.

Usage: nvcc.py ARCHITECTURE CANDIDATE ASSEMBLY FOLDER_OF_HEADERS
"""

import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

architecture, candidate, assembly, headers = sys.argv[1:]
tools = next(Path(file.locate()).parent for file in files("nvidia-cuda-nvcc") or () if file.name == "nvcc")
library = f"{assembly}.so"
code = f"arch=compute_{architecture}a,code=[sm_{architecture}a,compute_{architecture}a]"
complete = ("-shared", "-Xcompiler", "-fPIC", "-Xlinker", "--require-defined=model_new")
nvcc = (tools / "nvcc", "-std=c++17", "-O3", *complete, "-gencode", code, "--resource-usage", f"-I{headers}")
compiled = subprocess.run([*nvcc, "-o", library, candidate], stderr=subprocess.PIPE, text=True, check=False)
if compiled.returncode:
    sys.exit(compiled.stderr)
dump = ("--dump-resource-usage", "--dump-sass", "--dump-ptx")
listed = subprocess.run([tools / "cuobjdump", *dump, library], stdout=subprocess.PIPE, text=True, check=True).stdout
Path(assembly).write_text(compiled.stderr + listed, encoding="utf-8")
