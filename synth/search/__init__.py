"""Search strategies: pure functions from the points tried so far, with their scores, to the next point."""
