"""Ray on this machine alone, for as long as this process needs it."""

import logging
import os
import secrets
from typing import Any

QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
OBJECT_STORE = 2**28  # bytes; what is on its way here is small


def start(cores: int, folder: str | None = None) -> None:
    """`ray.shutdown` ends it, and so does the end of this process. Ray keeps its logs
    and sockets in `folder`."""
    import ray  # seconds, and it may not be installed

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # It listens on the network and does what it is told: by those who know this. Ray's
    # own choice is a file in the home folder, after which all clusters here want it.
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    ray.init(
        "local",
        num_cpus=cores,
        include_dashboard=False,
        object_store_memory=OBJECT_STORE,
        _temp_dir=folder,
        **QUIET,
    )
