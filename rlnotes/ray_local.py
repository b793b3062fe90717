"""Ray on this machine alone, for as long as this process needs it."""

import importlib.util
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from rlnotes.errors import UserError

QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
OBJECT_STORE = 2**28  # bytes; what is on its way here is small
# A process has one for all of its sessions: Ray reads it once.
TOKEN = secrets.token_hex(32)


def require() -> None:
    """Before a module is imported that cannot do without Ray."""
    if importlib.util.find_spec("ray") is None:
        raise UserError(
            "Ray is not installed. Install it with: pip install -r requirements.txt"
        )


@contextmanager
def session(cores: int = 1) -> Iterator[None]:
    """Ray for as long as a block lasts. Nothing is left of it, neither processes nor
    logs. `cores` are what its actors may ask for, not what they get."""
    require()
    import ray

    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        try:
            start(cores, folder)
        except Exception as problem:  # it has no narrower one
            ray.shutdown()
            *_, last = str(problem).splitlines() or [type(problem).__name__]
            raise UserError(
                f"Ray did not start ({last[:200].rstrip('. ')}): it gives itself half a"
                " minute, so try again when this machine is less busy"
            ) from problem
        try:
            yield
        finally:
            ray.shutdown()


def start(cores: int, folder: str | None = None) -> None:
    """`ray.shutdown` ends it, and so does the end of this process. Ray keeps its logs
    and sockets in `folder`."""
    import ray  # seconds, and it may not be installed

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # It listens on the network and does what it is told: by those who know this. Ray's
    # own choice is a file in the home folder, after which all clusters here want it.
    os.environ["RAY_AUTH_TOKEN"] = TOKEN
    ray.init(
        "local",
        num_cpus=cores,
        include_dashboard=False,
        object_store_memory=OBJECT_STORE,
        _temp_dir=folder,
        **QUIET,
    )
