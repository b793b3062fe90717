"""The process of a sweep that speaks with Ray: `python -m rlnotes.runs.ray_driver`.

It is a process of its own because Ray ends the process that it runs in when its cluster
goes away, and answers for the signals there. Runs come in over a pipe, and what became
of them goes back.
"""

import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

import ray

from rlnotes import ray_local
from rlnotes.experiments import registry
from rlnotes.paths import Run
from rlnotes.runs import remote
from rlnotes.runs.store import Parcel
from rlnotes.runs.sweep import LONGEST_MESSAGE, die_with_sweep

RETRIES = 3  # of a run whose worker, process or node died
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")  # they decide the last bits of a float


def main() -> None:
    die_with_sweep(signal.SIGTERM)  # as after any other end, Ray is shut down first
    try:
        drive(Connection(int(sys.argv[1])))
    except EOFError:
        pass  # the sweep has ended
    except Exception:
        traceback.print_exc()  # the sweep reads it
    finally:
        ray.shutdown()
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # what Ray has forgotten, and ourselves


def drive(connection: "Connection[Any, Any]") -> None:
    address, cores, folder = connection.recv()
    try:
        connect(address, cores, folder)
    except Exception as problem:
        *_, last = str(problem).splitlines() or [type(problem).__name__]
        connection.send(last[:200].rstrip(". "))
        return
    connection.send(None)
    serve(connection, folder if address is None else None)


def connect(address: str | None, cores: int, folder: str) -> None:
    if address is None:
        ray_local.start(cores, folder)
    else:
        ray.init(address, **ray_local.QUIET)


def serve(connection: "Connection[Any, Any]", folder: str | None) -> None:
    """Runs have their homes in `folder`, or where a node keeps what is temporary."""
    policies = ray.put(remote.recorded_policies())
    threads = {name: os.environ[name] for name in THREADS}
    train = ray.remote(max_retries=RETRIES, retry_exceptions=True)(remote.train)
    busy: dict[Any, Run] = {}
    while True:
        while connection.poll(0.1):
            run = connection.recv()
            task = train.options(num_cpus=cores_for(run))
            busy[task.remote(run, policies, threads, folder)] = run
        ended, _ = ray.wait(list(busy), timeout=0) if busy else ([], [])
        for reference in ended:
            connection.send((busy.pop(reference), outcome(reference)))


def cores_for(run: Run) -> int:
    """A run that needs more cores than any node has still runs, alone on one."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    most = max((int(node.get("CPU", 0)) for node in nodes), default=0)
    return min(registry.find(run.id).cores, max(most, 1))


def outcome(reference: Any) -> Parcel | str:
    try:
        return ray.get(reference)
    except ray.exceptions.LocalRayletDiedError:
        raise  # with it the cluster is out of reach
    except ray.exceptions.RayError as problem:
        return f"{problem}\n"[-LONGEST_MESSAGE:]


if __name__ == "__main__":
    main()
