#!/usr/bin/env bash
# bash tools/dist_train.sh CONFIG GPUS [options of tools/train.py]
set -euo pipefail
CONFIG=${1:?config file}
GPUS=${2:?number of processes of this machine}
python -m torch.distributed.run \
    --nnodes="${NNODES:-1}" \
    --node_rank="${NODE_RANK:-0}" \
    --master_addr="${MASTER_ADDR:-127.0.0.1}" \
    --master_port="${PORT:-29500}" \
    --nproc_per_node="$GPUS" \
    "$(dirname "$0")/train.py" "$CONFIG" --launcher pytorch "${@:3}"
