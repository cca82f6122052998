"""What is right: a task's cases, the values of its inputs, its reference in float64, and the tolerance of outputs."""
