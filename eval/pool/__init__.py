"""The pool of this machine: which cards judge, what each judges, and how the judges that share one take turns."""
