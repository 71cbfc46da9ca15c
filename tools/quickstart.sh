#!/usr/bin/env bash
# Install, make a small synthetic data set, run the six steps of task 15-1 with
# FT, MiB, PLOP and RBC, and Joint, on the CPU, print the results, and make a
# report with pictures.
#
#   bash tools/quickstart.sh
#
# Everything is in data/shapes and work_dirs/quickstart. What is finished is
# not run again: a quick start that was stopped continues.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
    '') ;;
    -h | --help)
        sed -n '2,9s/^# \{0,1\}//p' tools/quickstart.sh
        exit
        ;;
    *)
        echo "quickstart.sh takes no arguments, found '$*'" >&2
        exit 2
        ;;
esac
. tools/environment.sh
use_environment onedl

out=work_dirs/quickstart
benchmark=fcn-tiny_shapes-15-1-overlapped
mkdir -p "$out"

echo "1/4 data: 460 images of textured shapes in data/shapes"
if [ ! -f data/shapes/ImageSets/Segmentation/val.txt ]; then
    python tools/dataset_converters/make_shapes.py data/shapes \
        --num-train 400 --num-val 60
fi
python tools/analysis_tools/browse_duplets.py \
    "configs/rbc/rbc_$benchmark.py" --out "$out/duplets.png"

echo "2/4 training: FT, MiB, PLOP, RBC and Joint (about five minutes)"
configs=()
for method in plop ft mib rbc joint; do
    configs+=("configs/$method/${method}_$benchmark.py")
done
python tools/run_benchmark.py "${configs[@]}" --work-dir "$out" --devices cpu cpu

echo "3/4 context bias of the networks (log: $out/context_bias.log)"
for method in ft mib plop rbc; do
    python tools/analysis_tools/context_bias.py \
        "$out/${method}_$benchmark/seed_0/step_5/final.pth"
done > "$out/context_bias.log" 2>&1

echo "4/4 report"
python tools/analysis_tools/report.py "$out" --images 3 \
    --title 'Quick start: 15-1 on synthetic shapes' --out "$out/report"
echo "duplets: $out/duplets.png"
