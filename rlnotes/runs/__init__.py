"""The doing: run a seed, sweep many, go on where one was stopped, keep and evaluate."""
