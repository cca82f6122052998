"""Compiles CUDA C++ with NVIDIA's packages. Writes what ptxas says of each kernel, its assembly and its PTX.

Usage: nvcc.py ARCHITECTURE CANDIDATE ASSEMBLY FOLDER_OF_HEADERS
"""

import subprocess
import sys
from importlib.metadata import files
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory

architecture, candidate, assembly, headers = sys.argv[1:]
tools = next(Path(file.locate()).parent for file in files("nvidia-cuda-nvcc") or () if file.name == "nvcc")
library = Path(f"{assembly}.so").resolve()
code = f"arch=compute_{architecture}a,code=[sm_{architecture}a,compute_{architecture}a]"
complete = ("-shared", "-Xcompiler", "-fPIC", "-Xlinker", "--require-defined=model_new")
nvcc = (tools / "nvcc", "-std=c++17", "-O3", *complete, "-gencode", code, f"-I{headers}")
compiled = subprocess.run([*nvcc, "-o", library, candidate], stderr=subprocess.PIPE, text=True, check=False)
if compiled.returncode:
    sys.exit(compiled.stderr)
dump = ("--dump-resource-usage", "--dump-sass", "--dump-ptx")
listed = subprocess.run([tools / "cuobjdump", *dump, library], stdout=subprocess.PIPE, text=True, check=True).stdout
with TemporaryDirectory() as folder:
    # nvcc's messages may hold text of the candidate (#pragma message), so ptxas alone is asked once more.
    subprocess.run([tools / "cuobjdump", "--extract-ptx", "all", library], cwd=folder, stdout=DEVNULL, check=True)
    ptxas = (tools / "ptxas", "--verbose", "-O3", f"--gpu-name=sm_{architecture}a", "--output-file", "/dev/null")
    needs = [
        subprocess.run([*ptxas, ptx], stderr=subprocess.PIPE, text=True, check=True).stderr
        for ptx in Path(folder).glob("*.ptx")
    ]
Path(assembly).write_text("".join([*needs, listed]), encoding="utf-8")
