#!/usr/bin/env bash
# GPUS=8 bash tools/slurm_train.sh PARTITION JOB_NAME CONFIG [options]
set -euo pipefail
PARTITION=${1:?partition}
JOB_NAME=${2:?job name}
CONFIG=${3:?config file}
GPUS=${GPUS:-8}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}
# shellcheck disable=SC2086
srun -p "$PARTITION" \
    --job-name="$JOB_NAME" \
    --gres="gpu:$GPUS_PER_NODE" \
    --ntasks="$GPUS" \
    --ntasks-per-node="$GPUS_PER_NODE" \
    --cpus-per-task="${CPUS_PER_TASK:-5}" \
    --kill-on-bad-exit=1 \
    ${SRUN_ARGS:-} \
    python -u tools/train.py "$CONFIG" --launcher slurm "${@:4}"
