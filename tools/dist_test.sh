#!/usr/bin/env bash
# bash tools/dist_test.sh CONFIG CHECKPOINT GPUS [options of tools/test.py]
set -euo pipefail
CONFIG=${1:?config file}
CHECKPOINT=${2:?checkpoint file}
GPUS=${3:?number of processes of this machine}
python -m torch.distributed.run \
    --nnodes="${NNODES:-1}" \
    --node_rank="${NODE_RANK:-0}" \
    --master_addr="${MASTER_ADDR:-127.0.0.1}" \
    --master_port="${PORT:-29500}" \
    --nproc_per_node="$GPUS" \
    "$(dirname "$0")/test.py" "$CONFIG" "$CHECKPOINT" --launcher pytorch "${@:4}"
