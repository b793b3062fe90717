"""Imported before any test: `rlnotes` sets one thread per process, which torch must not
precede. Long tests are started first, so that both cores are busy to the end."""

import pytest

import rlnotes

assert rlnotes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: -seconds(item))


def seconds(item: pytest.Item) -> float:
    """What a test is marked with, or nothing: it is quick."""
    marker = item.get_closest_marker("slow")
    return 0.0 if marker is None else float(marker.kwargs.get("seconds", 1))
