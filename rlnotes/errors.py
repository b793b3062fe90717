"""The one error a person can cause and mend: it says what is wrong and what to do."""

from collections.abc import Iterable


class UserError(Exception):
    """Shown by the command line as one message with exit code 2, never as a
    traceback."""


def unknown(kind: str, given: str, valid: Iterable[str]) -> UserError:
    return UserError(f"unknown {kind} '{given}'. Valid: {', '.join(valid)}")
