"""Bad input and signals end a tool with a sentence, not a traceback."""

from __future__ import annotations

import os
import os.path as osp
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

PROJECT = osp.dirname(osp.dirname(osp.dirname(osp.abspath(__file__))))
AGAIN_SECONDS = 3.0
OURS = tuple(osp.join(PROJECT, name, '') for name in ('mmseg_rbc', 'tools'))


@contextmanager
def plain_errors() -> Iterator[None]:
    """End with the sentence of an error that the project itself raised.

    An error from elsewhere keeps its traceback; with ``MMSEG_RBC_TRACEBACK=1``
    all do.
    """
    try:
        yield
    except (ValueError, FileNotFoundError, FloatingPointError) as error:
        if os.environ.get('MMSEG_RBC_TRACEBACK') or not is_ours(error):
            raise
        raise SystemExit(f'error: {error}') from None


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGUSR1; data workers end quietly, as after Ctrl-C.

    Attributes:
        first: The signal that came first. Slurm warns with one, and ends the
            other tasks with another when the first one has ended.
        process: The one that is to end with a sentence.
    """

    first: int | None = None
    process: int | None = None


def _terminate(number: int, frame: FrameType | None) -> None:
    if os.getpid() != Terminated.process:
        # A data worker that has just been forked, which is ended at the exit
        # of the main process: multiprocessing would print a traceback. With
        # another code torch would say that it died.
        os._exit(0)
    if number != signal.SIGALRM:
        Terminated.first = Terminated.first or number
    # Python prints and ignores an exception in a callback of a fork, which is
    # where it handles a signal that came while data workers were started.
    inside = frame.f_globals.get('__name__') if frame else None
    if inside in ('logging', 'threading', 'random'):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        return
    # There are other places where it is lost.
    signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    raise Terminated


@contextmanager
def stoppable(how_far: Callable[[], str]) -> Iterator[None]:
    """End with a sentence after Ctrl-C, SIGTERM or SIGUSR1.

    The exit codes are 130, 143 and 138; the last one is for the warning
    before the time limit of a job, see ``tools/slurm_train.sh``.

    Args:
        how_far: Says what is done, and how to go on.
    """
    numbers = (signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM)
    Terminated.first, Terminated.process = None, os.getpid()
    before = {each: signal.signal(each, _terminate) for each in numbers}
    hook, sys.excepthook = sys.excepthook, _quiet_in_workers(sys.excepthook)
    try:
        yield
    except KeyboardInterrupt as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = _ignore_half_built_loaders
        number = signal.SIGINT
        if isinstance(error, Terminated):
            number = signal.Signals(Terminated.first or signal.SIGTERM)
        print(f'stopped: {how_far()}', file=sys.stderr, flush=True)
        # The process ends now, with this code: Slurm's SIGTERM for tasks
        # that outlive the first one may not change it.
        before.update(dict.fromkeys(numbers, signal.SIG_IGN))
        raise SystemExit(128 + number) from None
    finally:
        sys.excepthook = hook
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before.items():
            signal.signal(each, handler)


def _ignore_half_built_loaders(unraisable: Any) -> None:
    """Print errors of destructors, but those of torch's data loaders.

    One that was stopped while it started its workers has no list of them.
    """
    where = getattr(unraisable.object, '__module__', None)
    if where != 'torch.utils.data.dataloader':
        sys.__unraisablehook__(unraisable)


def _quiet_in_workers(hook: Callable[..., None]) -> Callable[..., None]:
    """Return a hook that prints no lost connection of a forked process.

    A data worker that sends a tensor while the main process ends would print a
    traceback below the sentence. It finds the connection broken while it
    writes, or ended (an EOFError, which is no ConnectionError) while it reads.
    """
    main, lost = os.getpid(), (ConnectionError, EOFError)

    def quiet(kind: type[BaseException], *rest: object) -> None:
        if os.getpid() == main or not issubclass(kind, lost):
            hook(kind, *rest)

    return quiet


def is_ours(error: BaseException) -> bool:
    """Whether an error was raised by a file of this project."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and osp.abspath(frames[-1].filename).startswith(OURS)
