"""What kb knows in numbers: quantities and conditions by name, what holds of a target, what was measured."""
