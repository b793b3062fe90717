"""The proof: run records, sweeps, statistics, claims, the ledger's verdicts, figures and clips."""
