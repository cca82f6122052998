"""The process that runs a candidate, and the judge's hold on it. Nothing that comes out of it is believed."""
