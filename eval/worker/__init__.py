"""The process that runs a candidate, and its control by the judge, which trusts nothing from that process."""
