"""Is it right, is it fast, and on what machine. Needs only pydantic, so that it runs on a bare accelerator machine."""
