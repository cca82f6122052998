"""A vendor's simulator of a toy chip: runs a program of one word per line on the call in its folder."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

from kb_call import read_call, write_outputs

SCRATCHPAD = 4096
call = read_call()
a, b = call.inputs
result = a * 0
for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    match line.split():
        case ["alloc", size] if int(size) > SCRATCHPAD:
            sys.exit(f"scratchpad of {size} bytes exceeds {SCRATCHPAD}")
        case ["alloc", _]:
            pass
        case ["twice-a"]:
            result += 2 * a
        case ["add-b"]:
            result += b
        case ["cost", cycles]:
            print(f"took {cycles} cycles;")
        case ["lanes", lanes]:  # right on a chip with so many lanes only
            result += sys.argv[2] != lanes
        case ["spin"]:
            time.sleep(1000)
        case ["flood"]:
            while True:
                print("x" * 1_000_000)
        case ["hoard"]:
            bytearray(1 << 34)
        case ["start"]:
            subprocess.run([sys.executable, "-c", ""], check=True)
        case ["become"]:
            os.execv(sys.executable, [sys.executable, "-c", ""])
        case ["crash"]:
            ctypes.string_at(0)
        case ["peek", file]:
            Path(file).read_bytes()
        case ["short"]:
            Path("output_0.bin").write_bytes(b"1234")
            sys.exit(0)
        case ["nothing"]:
            sys.exit(0)
        case ["double"]:
            result = result.astype("float64")
        case [other, *_]:
            sys.exit(f"illegal opcode {other}")
write_outputs(call, result)
