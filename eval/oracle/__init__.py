"""What is right: the cases of a task, the values of its inputs, its reference in float64, and the tolerance of outputs."""
