#!/usr/bin/env bash
# RBC on a real Slurm: two machines (daemons on loopback), a process on each.
#
# One run is undisturbed; the other gets the signal before the time limit in
# the middle of step 1, is queued again and goes on by itself. Their weights
# must be equal, bit by bit. Needs root and Debian's slurmctld slurmd
# slurm-client munge; leaves nothing behind.
#
# SLURM_SECONDS is how long to wait for each part (400): more on a busy machine.
set -euo pipefail
. "$(dirname "$0")/daemons.sh"

# submit NAME: start a run in $dir/NAME, and print the number of its job.
submit() {
    REQUEUE=1 GPUS=2 GPUS_PER_NODE=0 CPUS_PER_TASK=1 \
        SRUN_ARGS="--nodes=2 --parsable --output=$dir/$1.log" \
        bash "$repo/tools/slurm_train.sh" cpu "$1" \
        "$repo/configs/rbc/rbc_fcn-tiny_shapes-15-1-overlapped.py" \
        --work-dir "$dir/$1" --cfg-options "continual.data_root=$dir/data" \
        continual.task=15-5 'crop_size=(32,32)' schedule.base.epochs=2 \
        schedule.later.epochs=3 default_hooks.checkpoint.interval=1 \
        default_hooks.hold.type=HoldHere default_hooks.hold.iteration=7 \
        custom_imports.imports='[mmseg_rbc,helpers]'
}

start_slurm
make_data
cd "$dir/state"
hold "$dir/cut"
whole=$(submit whole)
cut=$(submit cut)
wait_for "$patience" test -f "$dir/cut/held"
scancel --batch --signal=USR1 "$cut"
echo "after $SECONDS s: SIGUSR1 to job $cut, in step 1"
wait_for "$patience" grep '^stopped: ' "$dir/cut.log"
grep '^stopped: ' "$dir/cut.log" | sort -u
rm "$dir/cut/hold"
for name in whole cut; do
    wait_for "$patience" grep '^results: ' "$dir/$name.log"
done
restarts=$(scontrol show job "$cut" | grep -o 'Restarts=[0-9]*')
echo "after $SECONDS s: jobs $whole and $cut are finished; $cut: $restarts"
[ "$restarts" = Restarts=1 ]
python "$repo/tests/slurm/compare.py" "$dir/whole" "$dir/cut"
echo "passed in $SECONDS s"
