"""The judge's side of the sandbox: starts, feeds, watches and stops a worker, and trusts nothing that it says."""
