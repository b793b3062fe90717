"""The failures: for each, the fault as the smallest override of healthy code, and the diagnostic
that shows it early. The experiments run fault and fix side by side.
"""
