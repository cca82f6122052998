"""The judge's process for tests that are about neither times nor sizes.

It tries no session again that other tests disturb, and interprets small cases alone.
"""

from eval.clock import sessions
from eval.devices.device import CaseSizes
from eval.devices.triton_compiler import TritonCompiler
from eval.judge.process import main

if __name__ == "__main__":
    sessions.ATTEMPTS = 1
    TritonCompiler.sizes = CaseSizes(large=1 << 12, small=1 << 10, given=1 << 12)
    main()
