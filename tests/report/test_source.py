"""The source that a chapter shows is that of the package."""

import inspect

from rlnotes.report import statistics
from rlnotes.report.source import show


def test_the_source_stands_under_its_full_name() -> None:
    shown = show(statistics.iqm, statistics.interval).data
    assert shown.startswith("`rlnotes.report.statistics.iqm`\n\n```python\ndef iqm(")
    assert inspect.getsource(statistics.interval) in shown
