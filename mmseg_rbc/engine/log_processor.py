"""Log lines that name the step."""

from __future__ import annotations

import datetime
from typing import Any

from mmengine.registry import LOG_PROCESSORS
from mmengine.runner import LogProcessor, Runner


@LOG_PROCESSORS.register_module()
class ContinualLogProcessor(LogProcessor):
    """Put the step before a line, and the time left of the sequence in it.

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
        self.prefix = f'step {step}/{last_step}  '
        self.later_iters = later_iters

    def get_log_after_iter(
        self, runner: Runner, batch_idx: int, mode: str
    ) -> tuple[dict, str]:
        """Format the line of an iteration."""
        tag, text = super().get_log_after_iter(runner, batch_idx, mode)
        if mode == 'train':
            text = text.replace('  eta: ', self._sequence_eta(runner, tag), 1)
            if self.by_epoch:
                epoch = f'[{tag["epoch"]}'
                text = text.replace(
                    f'{epoch}]', f'{epoch}/{runner.max_epochs}]', 1
                )
        return tag, self.prefix + text

    def get_log_after_epoch(self, *args: Any, **kwargs: Any) -> Any:
        """Format the line of an evaluation."""
        tag, text = super().get_log_after_epoch(*args, **kwargs)
        return tag, self.prefix + text

    def _sequence_eta(self, runner: Runner, tag: dict) -> str:
        """Return the sequence's ETA and the label of the step's."""
        left = runner.message_hub.runtime_info.get('eta', 0)
        seconds = left + self.later_iters * tag.get('time', 0)
        text = datetime.timedelta(seconds=int(seconds))
        return f'  eta of sequence: {text}  eta of step: '
