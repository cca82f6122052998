"""Search over points, as pure functions: what was tried and how good it was → what to try next."""
