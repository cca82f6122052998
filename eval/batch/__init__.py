"""Batches: candidates that another machine judges, which may have no network and no kb."""
