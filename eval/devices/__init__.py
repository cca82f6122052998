"""Where a candidate is judged."""
