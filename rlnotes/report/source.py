"""Show the package's own source in a chapter, so that the page cannot differ from what
runs."""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from IPython.display import Markdown


def show(*functions: Callable[..., Any] | type) -> Markdown:
    """The source of `functions` as it stands in the package, under their full names."""
    parts = []
    for function in functions:
        # Jupyter Book highlights a fenced block like its own code cells.
        code = textwrap.dedent(inspect.getsource(inspect.unwrap(function))).rstrip()
        name = f"{function.__module__}.{function.__qualname__}"
        parts.append(f"`{name}`\n\n```python\n{code}\n```")
    return Markdown("\n\n".join(parts))
