#!/usr/bin/env bash
# Train with Slurm, one process a GPU, from any folder:
#
#   GPUS=8 bash tools/slurm_train.sh PARTITION JOB_NAME CONFIG [options]
#
# GPUS            processes in all (8)
# GPUS_PER_NODE   of a machine (8); 0: without GPUs
# CPUS_PER_TASK   cores of a process (5)
# SRUN_ARGS       further options of srun or sbatch, such as --time=1-00:00:00
# REQUEUE=1       submit a batch job, which goes on by itself after its time
#                 limit: WARN_SECONDS (120) before it the run stops, and the
#                 job is queued again and resumes
set -euo pipefail
PARTITION=${1:?partition}
JOB_NAME=${2:?job name}
CONFIG=$(realpath "${3:?config file}")
GPUS=${GPUS:-8}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}
tool=$(cd "$(dirname "$0")" && pwd)/train.py

resources=(--partition="$PARTITION" --job-name="$JOB_NAME" --ntasks="$GPUS")
resources+=(--cpus-per-task="${CPUS_PER_TASK:-5}")
if [ "$GPUS_PER_NODE" -gt 0 ]; then
    per_node=$((GPUS < GPUS_PER_NODE ? GPUS : GPUS_PER_NODE))
    resources+=(--gres="gpu:$per_node" --ntasks-per-node="$per_node")
fi
command=(srun --kill-on-bad-exit=1)
train=(python -u "$tool" "$CONFIG" --launcher slurm)

if [ -z "${REQUEUE:-}" ]; then
    # shellcheck disable=SC2086
    exec "${command[@]}" "${resources[@]}" ${SRUN_ARGS:-} "${train[@]}" "${@:4}"
fi
# srun does not ask the batch job for this.
command+=(--cpus-per-task="${CPUS_PER_TASK:-5}")
# The signal goes to this script, which passes it on: what the tasks end with
# depends on whose signal came first, and on who lost whom.
# shellcheck disable=SC2086
sbatch "${resources[@]}" --requeue --open-mode=append \
    --signal="B:USR1@${WARN_SECONDS:-120}" ${SRUN_ARGS:-} <<EOF
#!/usr/bin/env bash
warned=
$(printf '%q ' "${command[@]}" "${train[@]}" --resume "${@:4}") &
tasks=\$!
trap 'warned=1; kill -USR1 "\$tasks"' USR1
wait "\$tasks"
code=\$?
# A signal ends wait, not the tasks.
while kill -0 "\$tasks" 2> /dev/null; do
    wait "\$tasks"
    code=\$?
done
# 138: somebody sent it to the tasks alone.
if [ "\$code" = 138 ] || { [ -n "\$warned" ] && [ "\$code" != 0 ]; }; then
    scontrol requeue "\$SLURM_JOB_ID"
fi
exit "\$code"
EOF
