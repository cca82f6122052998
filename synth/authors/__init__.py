"""Authors of kernels: a new one is one file here, and only here may the SDK of a model be imported."""
