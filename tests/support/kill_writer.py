"""A process that writes epochs and waits to be killed, and says after each flush what has been acknowledged.

It prints `ended CONFIGURATION` for a trial that it has ended and `epoch CONFIGURATION LAST` for epochs up to LAST.
"""

import sys

import robustness
from robustness.trial import EpochResult

BATCH = 5
EPOCHS = 20
TRIALS = 8


def main(url: str) -> None:
    with robustness.open_store(url) as store:
        study = store.study("sample")
        with study.writer(flush_every=1e9, flush_rows=10**9) as writer:
            for key in study.pending()[:TRIALS]:
                writer.started(key, 1)
                for number in range(1, EPOCHS + 1):
                    writer.epoch(key, EpochResult(number, {"nll": number / 8, "own": float(key.configuration)}))
                    if number % BATCH == 0:
                        writer.flush()
                        print("epoch", key.configuration, number, flush=True)
                writer.ended(key, "finished", 0.5, EPOCHS)
                writer.flush()
                print("ended", key.configuration, flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
