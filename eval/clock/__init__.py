"""How long a call takes: sessions beside the baselines, intervals, and other use of the machine."""
