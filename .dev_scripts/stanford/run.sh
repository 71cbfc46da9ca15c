#!/usr/bin/env bash
# The table of docs/add_classes.md, beginning with the data:
#   bash .dev_scripts/stanford/run.sh STANFORD_BG MOBILENET_V2.pth CLASS [SEED...]
# What is there already is kept. Twelve trainings of some minutes each.
set -e
here=$(cd "$(dirname "$0")" && pwd)
repo=$here/../..
source_data=$1 weights=$2
export HELD_OUT=$3
shift 3
out=$repo/docs/results/add_classes/$HELD_OUT
data=data/stanford_half_$HELD_OUT
runs=work_dirs/stanford_$HELD_OUT
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PYTHONPATH=$repo
mkdir -p data/weights "$out"
[ -e data/weights/mobilenet_v2_imagenet_mmseg.pth ] ||
    ln -s "$weights" data/weights/mobilenet_v2_imagenet_mmseg.pth
[ -e $data ] || python "$here/prepare.py" "$source_data" $data $HELD_OUT

evaluate() { # CONFIG CHECKPOINT NAME
    [ -e "$out/$3.json" ] ||
        python "$here/evaluate.py" $data "$1" "$2" "$out/$3.json"
}

for seed in ${@:-0 1 2}; do
    for kind in stock joint; do
        run=$runs/${kind}_$seed
        [ -e $run/iter_300.pth ] ||
            python "$here/stock_train.py" "$here/$kind.py" $run $seed
        evaluate "$here/$kind.py" $run/iter_300.pth ${kind}_$seed
    done
    for method in ft rbc; do
        run=$runs/${method}_$seed
        python "$repo/tools/add_classes.py" "$here/stock.py" \
            $runs/stock_$seed/iter_300.pth --classes $HELD_OUT=1 \
            --images $data/new/images --masks $data/new/masks \
            --method $method --seed $seed --work-dir $run \
            --epochs 20 --batch-size 16
        evaluate $run/export/config.py $run/export/network.pth \
            ${method}_$seed
    done
done
grep . "$out"/*.json
