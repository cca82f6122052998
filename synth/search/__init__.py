"""What to try next: only pure functions of what was tried and how it did, without a model, a clock or a file."""
