#!/bin/bash
# A plain list of machines with SSH: the first is the head. Usage: machines.sh STUDY HOST HOST...
# Each machine has the project installed, and the token of the head in ~/.ray/auth_token.
set -euo pipefail

study=$1
shift
machines=("$@")
head=${machines[0]}
port=6379

stop() {
    for machine in "${machines[@]}"; do
        ssh "$machine" ray stop || true
    done
}
trap stop EXIT

ssh "$head" "RAY_AUTH_MODE=token ray start --head --port=$port"
for machine in "${machines[@]:1}"; do
    ssh "$machine" "RAY_AUTH_MODE=token ray start --address=$head:$port"
done
# The store lies on the head, where the sweep runs; the same command goes on with it.
ssh -t "$head" "robustness sweep $(printf %q "$study") --ray-address $head:$port --store sqlite:///robustness.db"
