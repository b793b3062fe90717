"""The ledger's experiments: environment, learner and settings for every budget, under
their ledger id."""
