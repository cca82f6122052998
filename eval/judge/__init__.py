"""Decides on candidates for one task and target. It never imports one."""
