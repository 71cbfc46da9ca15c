import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from helpers import CONFIGS, REPO

from mmseg_rbc.tasks import Task
from mmseg_rbc.utils.errors import is_ours, plain_errors, stoppable


def test_sentence_of_ours():
    with pytest.raises(SystemExit, match='^error: task .x. is neither'):
        with plain_errors():
            Task.parse('x', 21)


def test_errors_from_elsewhere_keep_their_traceback():
    with pytest.raises(json.JSONDecodeError) as info:
        with plain_errors():
            json.loads('{')
    assert not is_ours(info.value) and not is_ours(ValueError())
    # A bare one of ours is a mistake, and not for the user.
    with pytest.raises(TypeError):
        with plain_errors():
            Task.parse()


def test_all_tracebacks_on_request(monkeypatch):
    monkeypatch.setenv('MMSEG_RBC_TRACEBACK', '1')
    with pytest.raises(ValueError, match='is neither') as info:
        with plain_errors():
            Task.parse('x', 21)
    assert is_ours(info.value)


@pytest.mark.parametrize(
    'number, workers',
    [(signal.SIGTERM, 2), (signal.SIGINT, 0), (signal.SIGUSR1, 2)],
)
def test_a_stopped_training_says_how_to_go_on(
    tiny_root, tmp_path, number, workers
):
    config = CONFIGS / 'plop/plop_fcn-tiny_shapes-15-1-overlapped.py'
    command = [sys.executable, str(REPO / 'tools/train.py'), str(config)]
    command += ['--work-dir', str(tmp_path), '--cfg-options']
    command += [f'continual.data_root={tiny_root}', 'crop_size=(32,32)']
    command += [f'train_dataloader.num_workers={workers}']
    command += ['default_hooks.checkpoint.interval=1']
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ, OMP_NUM_THREADS='1'),
        # A test run in the background may have been told to ignore Ctrl-C.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 600
    while not (tmp_path / 'step_0/last_checkpoint').exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 128 + number, out
    assert 'Traceback' not in out
    assert f'stopped: 0 steps in {tmp_path} are finished, step 0 has' in out
    assert 'with --resume goes on from there' in out


@pytest.mark.skipif(sys.platform != 'linux', reason='forks')
def test_lost_connections_of_workers_are_not_printed(capfd):
    def fail(error: Exception) -> None:
        sys.excepthook(type(error), error, None)

    with stoppable(lambda: ''):
        fail(BrokenPipeError('of the main process'))
        if os.fork() == 0:
            fail(BrokenPipeError('of a worker'))
            fail(EOFError('of a worker'))
            fail(ValueError('of a worker too'))
            sys.stderr.flush()
            os._exit(0)
        os.wait()
    fail(ConnectionResetError('after it'))
    assert capfd.readouterr().err.splitlines() == [
        'BrokenPipeError: of the main process',
        'ValueError: of a worker too',
        'ConnectionResetError: after it',
    ]


@pytest.mark.skipif(sys.platform != 'linux', reason='forks')
@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGUSR1])
def test_a_worker_that_was_just_forked_ends_quietly(capfd, number):
    """At the exit multiprocessing ends it, before torch has its handlers."""
    context = multiprocessing.get_context('fork')
    with stoppable(lambda: ''):
        worker = context.Process(target=signal.raise_signal, args=[number])
        worker.start()
        worker.join()
    assert worker.exitcode == 0
    assert capfd.readouterr().err == ''


STOPPED = """
from torch.utils.data import DataLoader
from mmseg_rbc.utils.errors import stoppable

class Sampler:
    def __iter__(self):
        raise KeyboardInterrupt  # While the iterator is built.

class Other:
    def __del__(self):
        raise ValueError('of another destructor')

with stoppable(lambda: 'go on'):
    other = Other()
    list(DataLoader(range(9), num_workers=1, batch_sampler=Sampler()))
"""


def test_loader_stopped_while_it_starts():
    """Its destructor fails, which is of no interest; others are shown."""
    done = subprocess.run(
        [sys.executable, '-c', STOPPED],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert 'stopped: go on' in done.stderr
    assert '_workers' not in done.stderr
    assert 'of another destructor' in done.stderr


ENDING = """
import os, signal, time
from mmseg_rbc.utils.errors import stoppable

with stoppable(lambda: 'go on'):
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(9)
    finally:
        import atexit
        atexit.register(os.kill, os.getpid(), signal.SIGTERM)
"""


def test_a_later_signal_does_not_change_the_exit_code():
    """srun sends SIGTERM to a task that ends after the others."""
    done = subprocess.run(
        [sys.executable, '-c', ENDING],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGUSR1
    assert done.stderr == 'stopped: go on\n'
