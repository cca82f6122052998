"""What the judges that share a device agree on: whose turn it is, and that what starts pauses for it."""
