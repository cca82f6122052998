"""Hardware facts: quantities and conditions, the facts that hold for a target, measurements."""
