"""Learners, one file each. Every file reads in the same order: what it does and its
equations, `Config` (where a default is not the paper's, it says so), the agent, the
losses as pure functions that return `(loss, diagnostics)`, `update`, and `train`.

`train` yields `(step, diagnostics)` as it goes. Whenever it yields, the agent's
attributes are the whole state of its training, besides the world and torch's own random
numbers; a `train` that is given a used agent goes on from `agent.step`.
"""
