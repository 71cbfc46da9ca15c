"""Log lines that name the step."""

from __future__ import annotations

import datetime
from typing import Any

from mmengine.registry import LOG_PROCESSORS
from mmengine.runner import LogProcessor, Runner


@LOG_PROCESSORS.register_module()
class ContinualLogProcessor(LogProcessor):
    """Put the step before a line, and the time left of the sequence behind.

    That time is also among the logged values, as ``sequence_eta``.

    Args:
        step: The continual step.
        last_step: The last step of the sequence.
        later_iters: Training iterations of all later steps.
        kwargs: See ``LogProcessor``.
    """

    def __init__(
        self,
        step: int = 0,
        last_step: int = 0,
        later_iters: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.prefix = f'step {step}/{last_step}'
        self.later_iters = later_iters

    def get_log_after_iter(
        self, runner: Runner, batch_idx: int, mode: str
    ) -> tuple[dict, str]:
        """Format the line of an iteration."""
        tag, text = super().get_log_after_iter(runner, batch_idx, mode)
        if mode != 'train' or 'time' not in tag:
            return tag, f'{self.prefix}  {text}'
        # Later steps are taken to be as fast as this one.
        left = runner.message_hub.get_info('eta', 0)
        left = int(left + self.later_iters * tag['time'])
        tag['sequence_eta'] = left
        eta = datetime.timedelta(seconds=left)
        return tag, f'{self.prefix}  {text}  eta of sequence: {eta}'

    def get_log_after_epoch(self, *args: Any, **kwargs: Any) -> Any:
        """Format the line of an evaluation."""
        tag, text = super().get_log_after_epoch(*args, **kwargs)
        return tag, f'{self.prefix}  {text}'
