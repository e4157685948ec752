"""A run on a Ray cluster of its own whose head is killed, started by test_ray_workers.py."""

import os
import signal
import subprocess
import sys

import unlucky

from pincite.errors import PinciteError
from pincite_cluster import ray_workers


def head() -> int:
    """Return the process of the cluster's control service, a child of this process."""
    command = ["pgrep", "-P", str(os.getpid()), "gcs_server"]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.split()[0])


if __name__ == "__main__":
    ray_workers.ANSWER_SECONDS = 1.0
    try:
        with ray_workers.opened(1) as spread:
            for n, _ in enumerate(spread.map(unlucky.waits, range(1_000))):
                if n == 1:
                    os.kill(head(), signal.SIGKILL)
    except PinciteError as error:
        sys.stdout.write(type(error).__name__)
