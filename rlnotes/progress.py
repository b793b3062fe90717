"""Progress bars where somebody can see them: in a terminal, or in a notebook that a
person has open. In logs and in notebooks that are run as a whole they would only fill
the page."""

import os
import sys
from typing import Any

from tqdm import tqdm


def bar(*arguments: Any, show: bool = True, **options: Any) -> "tqdm[Any]":
    """tqdm's bar, with its own arguments."""
    hidden = not (show and _watched())
    return tqdm(*arguments, disable=hidden, **options)  # type: ignore[call-overload]


def _watched() -> bool:
    # Jupyter's server names the session of a kernel; nbconvert, papermill and nbval,
    # which run notebooks unattended, do not.
    return sys.stderr.isatty() or "JPY_SESSION_NAME" in os.environ
