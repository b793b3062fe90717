"""Learners, one file each. Every file reads in the same order: what it does and its equations,
`Config` (defaults are the paper's), the agent, the losses as pure functions that return
`(loss, diagnostics)`, `update`, and `train`, which yields `(step, diagnostics)` as it goes.
"""
