"""What runs in the process of a candidate, and nothing else: it imports no judge, no oracle and no clock."""
