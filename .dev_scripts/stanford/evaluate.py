"""Evaluate networks with MMSeg alone: this plugin is not imported.

python .dev_scripts/stanford/evaluate.py DATA CONFIG CHECKPOINT OUT.json

IoU of the seven old classes, over pixels that are labeled one of them, and of
the new one, over all labeled pixels of the same 143 images.
"""

import json
import sys
from pathlib import Path

import numpy as np
from mmseg.apis import inference_model, init_model
from PIL import Image

NUM_OLD, NUM_SEEN, VOID = 7, 8, 255


def confusion(data: Path, config: str, checkpoint: str) -> np.ndarray:
    """Return ``(8, 8)`` pixels by label and prediction."""
    model = init_model(config, checkpoint, device='cpu')
    counts = np.zeros((NUM_SEEN, NUM_SEEN), np.int64)
    for name in (data / 'val.txt').read_text().split():
        result = inference_model(model, str(data / 'images' / f'{name}.jpg'))
        predicted = result.pred_sem_seg.data[0].numpy()
        labels = np.array(Image.open(data / 'masks_all' / f'{name}.png'))
        valid = labels != VOID
        index = NUM_SEEN * labels[valid].astype(np.int64) + predicted[valid]
        counts += np.bincount(index, minlength=NUM_SEEN**2).reshape(8, 8)
    return counts


def iou(counts: np.ndarray, labels: int) -> np.ndarray:
    """Return the IoU of all classes over pixels of the first labels."""
    counts = counts[:labels]
    hits = np.diagonal(counts)
    union = counts.sum(1) + counts.sum(0)[:labels] - hits
    return 100 * hits / np.maximum(union, 1)


def main(data: str, config: str, checkpoint: str, out: str) -> None:
    """Write IoU of the old classes, their mean, and that of the new one."""
    counts = confusion(Path(data), config, checkpoint)
    old = iou(counts, NUM_OLD)
    result = dict(
        old=round(float(old.mean()), 2),
        new=round(float(iou(counts, NUM_SEEN)[-1]), 2),
        old_classes=[round(float(value), 2) for value in old],
    )
    Path(out).write_text(json.dumps(result) + '\n')
    print(out, result)


if __name__ == '__main__':
    main(*sys.argv[1:])
