"""Runs a command and ends its whole process group with it: started by `process.py` as the leader of a new session.

    python launcher.py STATUS WORD...

It writes the command's exit code to the descriptor STATUS, or a line that says why it could not start. Its standard
input is a pipe that nobody writes to: when the worker at the other end is gone, however it died, the pipe closes, and
the launcher kills the group. It imports nothing of this project, so that it starts fast.
"""

import os
import signal
import subprocess
import sys
import threading


def main() -> None:
    status, words = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(status, False)
    threading.Thread(target=end_with_worker, daemon=True).start()
    try:
        answer = str(subprocess.Popen(words, stdin=subprocess.DEVNULL).wait())  # noqa: S603 - what the launcher is for
    except (OSError, ValueError) as error:
        answer = f"cannot be started: {error}"
    os.write(status, answer.encode(errors="replace")[:1000])
    # Processes that the command left behind would keep its output open.
    kill_group()


def end_with_worker() -> None:
    os.read(0, 1)
    kill_group()


def kill_group() -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
