"""The command line that adds classes."""

from helpers import run_tool
from stock_networks import write_new, write_stock


def test_dry_run_and_bad_input(tmp_path):
    stock = write_stock(tmp_path / 'stock')
    new = write_new(tmp_path / 'new')
    data = ('--images', new / 'images', '--masks', new / 'masks')
    printed = run_tool(
        *('add_classes.py', *stock, *data, '--classes', 'traffic light=1'),
        *('--unlabelled', 0, '--dry-run'),
        cwd=tmp_path,
    )
    assert "new class 'traffic light' (value 1): in 8 images" in printed
    assert not (tmp_path / 'work_dirs').exists()
    printed = run_tool(
        *('add_classes.py', *stock, *data, '--classes', 'car'),
        expected=2,
    )
    assert 'expected NAME=VALUE with a value from 0 to 254' in printed
    printed = run_tool(
        *('add_classes.py', *stock, *data, '--classes', 'car=9'),
        cwd=tmp_path,
        expected=1,
    )
    assert 'error: the masks in' in printed and 'Traceback' not in printed
