"""The judge's side of the sandbox: starts, feeds, watches and stops a worker, and checks its outputs."""
