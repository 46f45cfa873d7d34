"""Two Ray nodes on this machine, in a process of their own; ends on a line from stdin."""

import sys
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster


def main(folder: Path, nodes: int) -> None:
    options: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **options})
    for _ in range(nodes - 1):
        cluster.add_node(**options)
    cluster.wait_for_nodes()
    (folder / "address").write_text(cluster.address)
    sys.stdin.readline()
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
