"""Configs in checkpoints that are safe to unpickle, in every tool.

tests/apis/test_embedded_config.py has more of them.
"""

from pathlib import Path

import payloads
from mmengine.config import Config

from mmseg_rbc.datasets.wrappers import base_datasets


def set_neck(path: Path, mark: Path) -> str:
    def change(cfg: Config) -> None:
        cfg.model.neck = payloads.system_config(mark)

    payloads.edit_config(path, change)
    return f"{path}: model.neck.type='os.system' is refused"


def test_config_in_predict(attack, work_dir, mark, image, tmp_path):
    path = work_dir / 'step_1/final.pth'
    sentence = set_neck(path, mark)
    attack(sentence, 'predict.py', path, image, '--out', tmp_path / 'out')


def test_config_in_context_bias(attack, work_dir, mark):
    path = work_dir / 'step_1/final.pth'
    sentence = set_neck(path, mark)
    attack(sentence, 'analysis_tools/context_bias.py', path)


def test_config_in_report(attack, work_dir, mark):
    sentence = set_neck(work_dir / 'step_1/final.pth', mark)
    attack(sentence, 'analysis_tools/report.py', work_dir, '--images', 1)


def test_pipeline_in_context_bias(attack, work_dir, mark):
    path = work_dir / 'step_1/final.pth'

    def change(cfg: Config) -> None:
        dataset = next(base_datasets(cfg.val_dataloader.dataset))
        dataset.pipeline.append(payloads.system_config(mark))

    payloads.edit_config(path, change)
    sentence = "dataset.pipeline[3].type='os.system' is refused"
    attack(sentence, 'analysis_tools/context_bias.py', path)
