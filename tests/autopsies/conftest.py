"""What the tests of twins share."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest

from rlnotes.experiments.registry import find
from rlnotes.experiments.settings import names

Differing = Callable[[tuple[str, str], tuple[str, str]], set[str]]


@pytest.fixture
def differing() -> Differing:
    """The names of the settings in which two variants, each (id, variant), differ."""

    def settings_of(variant: tuple[str, str]) -> dict[str, Any]:
        settings = find(variant[0]).settings_for(variant[1], "full")
        return {
            name: reduce(getattr, name.split("."), settings) for name in names(settings)
        }

    def compare(healthy: tuple[str, str], faulty: tuple[str, str]) -> set[str]:
        one, other = settings_of(healthy), settings_of(faulty)
        return {
            name
            for name in one.keys() | other.keys()
            if one.get(name) != other.get(name)
        }

    return compare
