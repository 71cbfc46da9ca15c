#!/usr/bin/env bash
# A small table on a real Slurm: run_benchmark.py --cluster slurm.
#
# Three methods share step 0, and two jobs may run at a time. Submitted again,
# nothing is submitted twice; a job that gets the signal before its time limit
# in step 1 is queued again and goes on. Needs what run.sh needs, and submitit.
#
# SLURM_SECONDS is how long to wait for each part (400): more on a busy machine.
set -euo pipefail
. "$(dirname "$0")/daemons.sh"
methods=(ft mib plop)

# table [OPTION...]: submit what is missing of the table.
table() {
    local configs=()
    for method in "${methods[@]}"; do
        configs+=("$repo/configs/$method/${method}_fcn-tiny_shapes-15-1-overlapped.py")
    done
    python "$repo/tools/run_benchmark.py" "${configs[@]}" \
        --work-dir "$dir/table" --cluster slurm --partition cpu \
        --gpus-per-job 0 --cpus-per-job 1 --max-jobs 2 "$@" \
        --cfg-options "continual.data_root=$dir/data" continual.task=15-5 \
        'crop_size=(32,32)' schedule.base.epochs=2 schedule.later.epochs=3 \
        default_hooks.checkpoint.interval=1 \
        default_hooks.hold.type=HoldHere default_hooks.hold.iteration=3 \
        custom_imports.imports='[mmseg_rbc,helpers]'
}

# run_of METHOD: its work dir.
run_of() {
    echo "$dir/table/$1_fcn-tiny_shapes-15-1-overlapped/seed_0"
}

# count PATTERN: lines of what was printed last.
count() {
    grep -c "$1" "$dir/printed" || true
}

start_slurm
make_data
cd "$dir/state"
table --dry-run | tee "$dir/printed"
[ "$(count ': to run, [0-9]* iterations')" = 3 ]
[ "$(count '^4 jobs of Slurm')" = 1 ]
[ "$(count 'step 0 of ft')" = 2 ]
hold "$(run_of mib)"
table > "$dir/printed"
grep submitted "$dir/printed"
[ "$(count 'submitted as job')" = 4 ]
[ "$(count 'afterok:')" = 3 ]
[ "$(count 'afterany:')" = 2 ]
mib=$(sed -n 's/^mib.* submitted as job \([0-9]*\),.*/\1/p' "$dir/printed")
wait_for "$patience" test -f "$(run_of mib)/held"
scancel --signal=USR1 "$mib"
echo "after $SECONDS s: SIGUSR1 to job $mib, in step 1"
wait_for "$patience" grep '^stopped: ' "$(run_of mib)/benchmark.log"
rm "$(run_of mib)/hold"
table > "$dir/printed"
echo "after $SECONDS s, again: $(count 'queued or runs') jobs are in the queue"
[ "$(count submitted)" = 0 ]
for method in "${methods[@]}"; do
    wait_for "$patience" test -f "$(run_of "$method")/step_1/finished.json"
done
restarts=$(scontrol show job "$mib" | grep -o 'Restarts=[0-9]*')
echo "after $SECONDS s: all runs are finished; $mib: $restarts"
[ "$restarts" = Restarts=1 ]
grep -q '"resumed": true' "$(run_of mib)/step_1/finished.json"
table | tee "$dir/printed"
[ "$(count '^3 of 3 runs are finished')" = 1 ]
[ "$(count submitted)" = 0 ]
echo "passed in $SECONDS s"
