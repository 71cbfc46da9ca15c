# Sourced by run.sh and table.sh: a Slurm with two nodes on loopback, in $dir.
#
# It is stopped, and $dir removed, when the script ends.
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dir=$(mktemp -d /tmp/mmseg_rbc_slurm.XXXXXX)
chmod 755 "$dir"
export SLURM_CONF=$dir/slurm.conf OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1
export PYTHONPATH=$repo:$repo/tests${PYTHONPATH:+:$PYTHONPATH} MMSEG_RBC_CACHE=$dir/cache
patience=${SLURM_SECONDS:-400}
# Another Slurm on loopback has others; a job's number chooses its port.
port=$((16000 + RANDOM % 3900))
first_job=$((RANDOM % 9000 + 1))
daemons=()

stop() {
    for job in $(squeue --noheader --format=%A 2>/dev/null); do
        scancel --quiet "$job" 2>/dev/null || true
    done
    for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do
        kill "${daemons[i]}" 2>/dev/null || true
        wait "${daemons[i]}" 2>/dev/null || true
    done
    rm -rf "$dir"
}
trap stop EXIT

write_config() {
    cat > "$SLURM_CONF" <<EOF
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
FirstJobId=$first_job
# A job that is queued again starts when its credential has expired.
AuthInfo=socket=$dir/munge.socket,cred_expire=5
AuthType=auth/munge
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
# By default a job that may start now waits for up to a minute.
SchedulerParameters=sched_interval=2,bf_interval=2
NodeName=n[1-2] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=4
PartitionName=cpu Nodes=ALL Default=YES State=UP
EOF
}

start_slurm() {
    mkdir -p "$dir"/{munge,state,spool/n1,spool/n2}
    chmod 700 "$dir/munge"
    dd if=/dev/urandom of="$dir/munge/key" bs=128 count=1 2>/dev/null
    chmod 400 "$dir/munge/key"
    munged --foreground --force --socket="$dir/munge.socket" \
        --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" \
        --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" \
        > "$dir/munged.log" 2>&1 &
    daemons+=($!)
    wait_for 120 test -S "$dir/munge.socket"
    write_config
    slurmctld -D > "$dir/slurmctld.log" 2>&1 &
    daemons+=($!)
    for node in n1 n2; do
        slurmd -D -N "$node" > "$dir/$node.log" 2>&1 &
        daemons+=($!)
    done
    wait_for 200 both_idle
    echo "after $SECONDS s: $(slurmctld -V) runs, with two nodes on loopback"
}

both_idle() {
    [ "$(sinfo --noheader --states=idle --format=%D)" = 2 ]
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    until "${@:2}" > /dev/null 2>&1; do
        if [ "$SECONDS" -gt "$end" ]; then
            tail -n 30 "$dir"/*.log
            echo "error: waited $1 s for: ${*:2}"
            exit 1
        fi
        sleep 0.2
    done
}

# Make 40 + 6 small images in $dir/data.
make_data() {
    python -c "
from mmseg_rbc.datasets.shapes import make_shapes
make_shapes('$dir/data', 40, 6, size=(48, 64))"
}

# hold WORK_DIR: let a run wait for the signal in step 1, see helpers.py.
hold() {
    mkdir -p "$1"
    touch "$1/hold"
}
