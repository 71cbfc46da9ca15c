"""Train a stock config with MMSeg alone: this plugin is not imported.

python .dev_scripts/stanford/stock_train.py CONFIG WORK_DIR SEED
"""

import sys

from mmengine.config import Config
from mmengine.runner import Runner

cfg = Config.fromfile(sys.argv[1])
cfg.work_dir = sys.argv[2]
cfg.randomness = dict(seed=int(sys.argv[3]))
Runner.from_cfg(cfg).train()
