"""Runs one call of a kernel on the chip of a seed, in the folder of the call: `run_kernel.py SEED KERNEL`."""

import sys
from pathlib import Path

from kb_call import read_call, write_outputs

from benchmarks.unseen.chip import chip
from benchmarks.unseen.faults import Fault
from benchmarks.unseen.host import simulate


def main(seed: int, kernel: Path) -> None:
    call = read_call()
    outputs = [(spec.shape, spec.dtype) for spec in call.outputs]
    try:
        result = simulate(
            chip(seed), kernel.read_text(encoding="utf-8"), [*call.inputs, *call.state], call.init, outputs
        )
    except (Fault, ValueError) as error:
        raise SystemExit(str(error)) from None
    write_outputs(call, result.outputs)
    print(f"simulated cycles: {result.cycles};")  # kb joins what the calls print


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
