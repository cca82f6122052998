"""What a user measures of his own: search, kernels on KernelBench, and the judge."""
