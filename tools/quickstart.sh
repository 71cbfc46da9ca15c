#!/usr/bin/env bash
# Install, make a small synthetic data set, run the six steps of task 15-1 with
# RBC and with fine-tuning on the CPU, print both results, and make a report
# with pictures.
#
# Everything lies in data/shapes and work_dirs/quickstart; finished parts are
# not run again.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/environment.sh
use_environment onedl

if [ ! -f data/shapes/ImageSets/Segmentation/val.txt ]; then
    python tools/dataset_converters/make_shapes.py data/shapes \
        --num-train 400 --num-val 60
fi
python tools/analysis_tools/browse_duplets.py \
    configs/rbc/rbc_fcn-tiny_shapes-15-1-overlapped.py \
    --out work_dirs/quickstart/duplets.png
for method in rbc ft; do
    python tools/train.py \
        "configs/$method/${method}_fcn-tiny_shapes-15-1-overlapped.py" \
        --work-dir "work_dirs/quickstart/$method" \
        --init-from work_dirs/quickstart/rbc --resume
done
for method in rbc ft; do
    python tools/analysis_tools/context_bias.py \
        "work_dirs/quickstart/$method/step_5/final.pth"
done
python tools/analysis_tools/report.py \
    work_dirs/quickstart/rbc work_dirs/quickstart/ft --images 3 \
    --title 'Quick start: 15-1 on synthetic shapes' \
    --out work_dirs/quickstart/report
echo
for method in rbc ft; do
    python tools/analysis_tools/print_summary.py "work_dirs/quickstart/$method"
done
echo "duplets: work_dirs/quickstart/duplets.png"
echo "report: work_dirs/quickstart/report/report.html"
