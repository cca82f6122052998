"""Judge a batch where kb is not installed: `python -m eval`, in the folder that `kb batch pack` wrote.

Exit status: 0 when all candidates are judged and tuned to the end, 1 otherwise, 2 for wrong usage, 130 when stopped.
"""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from kb.errors import BatchError, KbError

HERE = Path(__file__).parents[1]
NEEDED = ("torch", "triton", "numpy", "pydantic")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eval", description="Judge a batch of kernels on this machine's devices."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, help="the batch (default: where this code is)")
    parser.add_argument("--devices", default="", help="only these, for example 0,2 or cpu (default: all)")
    parser.add_argument(
        "--pool", default=os.environ.get("KB_POOL", ""), help="a cluster that judges: ray or ray://HOST:PORT"
    )
    given = parser.parse_args()
    try:
        if missing := [name for name in NEEDED if find_spec(name) is None]:
            raise BatchError(f"this Python lacks {', '.join(missing)}", hint=f"the judge needs {', '.join(NEEDED)}")
        from eval.batch.judge import judge_batch

        # The judge's process does not search the working directory.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
        return int(judge_batch(given.folder, lambda line: print(line, flush=True), given.devices, given.pool) > 0)
    except KbError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the next start goes on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
