"""The showing: statistics, claims, tables, figures, films and the ledger's verdicts,
all from run records."""
