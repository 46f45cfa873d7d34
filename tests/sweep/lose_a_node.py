"""Two Ray nodes of two CPUs each; the second is killed once a trial has started on it. Ends on a line from stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from ray.cluster_utils import Cluster
from support.trainables import wait_for


def main(folder: Path) -> None:
    quiet = {"include_dashboard": False, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "resources": {"first": 1}, **quiet})
    second = cluster.add_node(num_cpus=2, object_store_memory=100 << 20, env_vars={"SIMULATED_NODE": "second"})
    cluster.wait_for_nodes()
    (folder / "address").write_text(cluster.address)
    wait_for(folder / "begun_on_second", limit=240)
    cluster.remove_node(second, allow_graceful=False)
    (folder / "node_lost").touch()
    sys.stdin.readline()
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
