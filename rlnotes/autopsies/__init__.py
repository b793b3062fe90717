"""The failures: for each, the fault as the smallest override of healthy code, and the
diagnostic that shows it early.

A fault is handed in, as a function or as `FAULT`, an override of a learner's `Config`
by the names of its fields; nothing is patched. The experiments run fault and fix side
by side.
"""
