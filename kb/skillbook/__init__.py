"""Skills as files: reading, publishing and finding them. The only place that writes a home's `skills/`."""
