"""An intruder without a token: tries to run code through every listener of somebody else's Ray.

Called with the address of the head and the ports of all listeners; prints OPEN for whatever let it in, and then END.
"""

import logging
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

os.environ.pop("RAY_AUTH_TOKEN", None)
os.environ.pop("RAY_AUTH_TOKEN_PATH", None)
os.environ["HOME"] = "/nonexistent"
os.environ["RAY_AUTH_MODE"] = sys.argv[1]
if sys.argv[1] == "token":
    os.environ["RAY_AUTH_TOKEN"] = "f" * 64

# Ray reads the variables when it is imported.
import ray
from ray._private import ray_constants
from ray._raylet import GcsClient  # type: ignore[attr-defined]
from ray.exceptions import AuthenticationError

ray_constants.NUM_REDIS_GET_RETRIES = 1


def ask(host: str, port: int) -> bytes:
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            connection.sendall(b"GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n")
            return connection.recv(100)
    except OSError:
        return b""


def main(head: str, ports: list[int]) -> None:
    host = head.rpartition(":")[0]
    with ThreadPoolExecutor(len(ports)) as pool:
        for port, answer in zip(ports, pool.map(lambda port: ask(host, port), ports), strict=True):
            if answer.startswith(b"HTTP/1.1 2"):
                print("OPEN", port, answer)
    try:
        client = GcsClient(address=head)
        print("OPEN", "the head answered", client.internal_kv_keys(b"", None))
    except AuthenticationError:
        print("refused by the head")
    try:
        ray.init(address=head, logging_level=logging.CRITICAL, log_to_driver=False)

        @ray.remote(num_cpus=0)
        def intrude() -> str:
            return os.uname().nodename

        print("OPEN", "ran code on", ray.get(intrude.remote(), timeout=20))
    except Exception as error:
        print("refused to connect:", type(error).__name__)


if __name__ == "__main__":
    main(sys.argv[2], [int(port) for port in sys.argv[3:]])
    print("END", flush=True)
    os._exit(0)
