"""The languages of candidates: how each is built, and its rules; what calls it is in eval/worker/adapters/."""
