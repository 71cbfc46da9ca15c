#!/usr/bin/env bash
# Install what the tests need, then run them.
#
#   bash tools/run_tests.sh                      linters and all tests
#   bash tools/run_tests.sh tests/test_tasks.py  some tests; any pytest options
#   bash tools/run_tests.sh --stack openmmlab    on the official packages
#
# MMSEG_RBC_REAL_DATA=<folder of voc12_aug128> adds the tests on real images.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/environment.sh

stack=onedl
case ${1:-} in
    -h | --help)
        sed -n '2,8s/^# \{0,1\}//p' tools/run_tests.sh
        exit
        ;;
    --stack)
        stack=${2:?--stack needs a name: onedl or openmmlab}
        shift 2
        ;;
esac
use_environment "$stack"
# The networks of the tests are tiny: more threads would wait for each other,
# for long if another process has their core.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

if [ $# -eq 0 ] && [ "$stack" = onedl ]; then
    ruff check .
    ruff format --check .
    mypy
    # A process on each core; the tests of a file share what they prepare.
    set -- -n auto --dist loadfile --no-loadscope-reorder --durations 25
fi
exec python -m pytest "$@"
