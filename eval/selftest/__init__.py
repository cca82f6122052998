"""Kernels whose verdict is known, for tests of the judge and for the self-test on a user's machine.

`known.toml` lists them. The kernels that must be refused lie in `wrong`, those that must pass in `correct`, and their
tasks in `tasks`; nothing there is imported.
"""
