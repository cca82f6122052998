"""Compare compiled kernels with the documented limits of a chip. Nothing is run or timed."""
