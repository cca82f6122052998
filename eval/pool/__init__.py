"""The cards of this machine: which judge, what each judges, and how the judges that share one take turns."""
