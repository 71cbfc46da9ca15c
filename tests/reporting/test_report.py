"""The page about runs: complete, damaged, hostile, and in a browser."""

import csv
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from mmseg_rbc.reporting.paper import CONDITIONS
from mmseg_rbc.reporting.report import write_report
from mmseg_rbc.runs.experiment import find_benchmark, group_runs
from mmseg_rbc.runs.run import find_runs

TOOL = Path(__file__).parents[2] / 'tools/analysis_tools/report.py'


def write_run(
    folder: Path,
    classes: list[str],
    sizes: list[int],
    task: str = '2-1',
    level: float = 50.0,
    seed: int = 0,
    **more,
) -> Path:
    """Write a work dir whose step t knows the first ``sizes[t]`` classes."""
    for step, size in enumerate(sizes):
        path = folder / f'step_{step}'
        logs = path / 'stamp/vis_data'
        logs.mkdir(parents=True)
        iou = {c: level - 10 * step + i for i, c in enumerate(classes[:size])}
        content = dict(
            task=task,
            setting='overlapped',
            step=step,
            num_base=sizes[0] if len(sizes) > 1 else 3,
            IoU=iou,
        )
        (path / 'metrics.json').write_text(json.dumps(content))
        done = dict(
            seed=seed,
            seconds=61.0,
            peak_memory_mb=100,
            versions=dict(torch='2', device='cpu'),
            **more,
        )
        (path / 'finished.json').write_text(json.dumps(done))
        (path / 'config.py').write_text(f"a = dict(name='{classes[1]}')\n")
        lines = [json.dumps(dict(iter=i, loss=1 / i)) for i in (1, 2)]
        (logs / 'scalars.json').write_text('\n'.join(lines))
    summary = dict(num_steps=len(sizes))
    (folder / 'summary.json').write_text(json.dumps(summary))
    return folder


NAMES = ['background', 'cat', 'dog', 'cow', 'bus']


@pytest.fixture
def work_dir(tmp_path) -> Path:
    """RBC with two seeds, FT with one, Joint."""
    root = tmp_path / 'runs'
    write_run(root / 'rbc/seed_0', NAMES, [3, 4, 5])
    write_run(root / 'rbc/seed_1', NAMES, [3, 4, 5], level=54.0, seed=1)
    write_run(root / 'ft', NAMES, [3, 4, 5], level=30.0)
    write_run(root / 'joint', NAMES, [5], task='offline', level=70.0)
    return root


def text_of(page: str) -> str:
    page = re.sub(r'<(style|svg).*?</\1>', '', page, flags=re.DOTALL)
    return re.sub(r'<[^>]*>', ' ', page)


def test_numbers_of_the_page(work_dir, tmp_path):
    runs = find_runs([str(work_dir)])
    assert find_benchmark(runs) == ('2-1', 'overlapped')
    out = tmp_path / 'out'
    page = Path(write_report(runs, str(out), 'My title')).read_text()
    text = ' '.join(text_of(page).split())
    assert 'My title' in text and '4 runs of task 2-1 overlapped' in text
    # rbc after step 2: IoU 30 ... 34, and 34 ... 38 with the other seed.
    assert '34.0 ± 2.8' in text
    # Joint has 72.0, ft 12.0.
    assert '60.0' in text
    assert 'ft has no result with seed 1' in text
    rows = list(csv.DictReader((out / 'summary.csv').open()))
    assert len(rows) == 8
    first = [r for r in rows if r['run'] == 'rbc' and r['seed'] == '0'][0]
    assert float(first['all']) == 32 and float(first['new']) == 33.5
    assert float(first['forgetting']) == pytest.approx((20 * 3 + 10) / 4)
    assert len(list(csv.DictReader((out / 'iou.csv').open()))) == 12 * 3 + 5
    for name in ('curves', 'forgetting', 'losses', 'heatmap_rbc'):
        with Image.open(out / f'{name}.png') as image:
            assert image.width > 200


def test_page_needs_no_network(work_dir, tmp_path):
    page = Path(write_report(find_runs([str(work_dir)]), str(tmp_path)))
    found = re.findall(r'(?:src|href)="?([^"\s>]+)', page.read_text())
    assert all(x.startswith(('#', 'data:')) for x in found), found
    assert '<script' not in page.read_text()


def test_names_are_text(tmp_path):
    nasty = ['background', '<script>alert(1)</script>', '$x_1$', 'a&b"\'']
    run = write_run(tmp_path / '<img src=x onerror=y>', nasty, [3, 4])
    (run / 'step_1/finished.json').write_text('{"seed": "<b>bold</b>"')
    page = Path(
        write_report(find_runs([str(run)]), str(tmp_path / 'o'), '<i>t</i>')
    ).read_text()
    assert '<script>alert' not in page and '<img src=x' not in page
    assert '<i>t</i>' not in page and '<b>bold' not in page
    assert '&lt;script&gt;alert(1)&lt;/script&gt;' in page


def test_damaged_runs_are_shown_as_far_as_they_go(work_dir, tmp_path):
    (work_dir / 'ft/step_2/finished.json').unlink()
    (work_dir / 'rbc/seed_1/step_1/metrics.json').write_text('{')
    path = work_dir / 'rbc/seed_0/step_2/metrics.json'
    content = json.loads(path.read_text())
    content['IoU']['cat'] = None
    path.write_text(json.dumps(content))
    (work_dir / 'empty').mkdir()
    runs = find_runs([str(work_dir), str(work_dir / 'empty')])
    text = ' '.join(
        text_of(Path(write_report(runs, str(tmp_path))).read_text()).split()
    )
    assert 'step 2 has a result but is not marked as finished' in text
    assert 'metrics.json cannot be read' in text
    assert 'empty holds no step' in text
    assert '2 of 3' in text


def test_seeds_that_got_less_far_are_left_out(work_dir, tmp_path):
    (work_dir / 'rbc/seed_1/step_1/finished.json').unlink()
    (work_dir / 'rbc/seed_1/step_2/finished.json').unlink()
    page = write_report(find_runs([str(work_dir)]), str(tmp_path))
    text = ' '.join(text_of(Path(page).read_text()).split())
    assert 'rbc/seed_1 got to step 0 only' in text
    (row,) = [
        r
        for r in csv.DictReader((tmp_path / 'summary.csv').open())
        if r['run'] == 'rbc' and r['background'] == 'True'
    ]
    assert float(row['all']) == 32
    assert '±' not in text.split('mIoU in per cent')[0]


def test_equal_names_of_other_tasks_stay_apart(tmp_path):
    write_run(tmp_path / 'a/rbc', NAMES, [3, 4, 5])
    write_run(tmp_path / 'b/rbc', NAMES, [3, 4, 5], task='2-2', level=90.0)
    write_run(tmp_path / 'c/rbc', NAMES, [3, 4, 5], task='2-2')
    runs = find_runs([str(tmp_path)])
    groups, problems = group_runs(runs)
    names = ['rbc 2-1 overlapped', 'rbc 2-2 overlapped']
    assert [group.name for group in groups] == names
    assert [len(group.runs) for group in groups] == [1, 1]
    (problem,) = problems
    assert 'c/rbc has the name' in problem and 'seed 0' in problem


def test_unfinished_run_has_no_level_and_no_forgetting(tmp_path):
    run = write_run(tmp_path / 'plop', NAMES, [3, 4, 5])
    for step in (1, 2):
        (run / f'step_{step}/finished.json').unlink()
    page = write_report(find_runs([str(run)]), str(tmp_path / 'o'))
    text = Path(page).read_text()
    assert 'Forgetting</h2>' not in text and '1 of 3' in text
    assert not (tmp_path / 'o/forgetting.png').exists()
    (group,), _ = group_runs(find_runs([str(run)]))
    assert group.curve() == [51]


def test_text_of_charts_is_text(work_dir, tmp_path):
    page = Path(write_report(find_runs([str(work_dir)]), str(tmp_path)))
    assert re.search('<text[^>]*>[^<]*mIoU of all seen', page.read_text())
    assert 'mathdefault' not in page.read_text(), 'no raw formulas'


def test_nothing_to_show(tmp_path):
    (tmp_path / 'x').mkdir()
    page = write_report(find_runs([str(tmp_path / 'x')]), str(tmp_path / 'o'))
    assert 'No step has a result yet' in Path(page).read_text()


@pytest.mark.parametrize('same', [True, False])
def test_numbers_of_the_paper(tmp_path, same):
    classes = [f'c{i}' for i in range(21)]
    conditions = dict(CONDITIONS, **({} if same else dict(backbone='tiny')))
    write_run(
        tmp_path / 'rbc_x',
        classes,
        [16, 17, 18, 19, 20, 21],
        '15-1',
        conditions=conditions,
    )
    page = write_report(find_runs([str(tmp_path)]), str(tmp_path / 'o'))
    text = Path(page).read_text()
    assert '69.5 / 38.4 / 62.1' in text
    assert ('other conditions' in text) == (not same)


def test_tool_is_fast_enough(tmp_path):
    """Three methods of six steps in 20 seconds, with all imports."""
    classes = [f'c{i}' for i in range(21)]
    for method in ('ft', 'plop', 'rbc'):
        sizes = [16, 17, 18, 19, 20, 21]
        write_run(tmp_path / f'runs/{method}', classes, sizes, '15-1')
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(TOOL), str(tmp_path / 'runs')],
        capture_output=True,
        text=True,
        check=False,
    )
    assert time.monotonic() - start < 20
    assert done.returncode == 0, done.stderr
    assert (tmp_path / 'runs/report/report.html').exists()


def test_missing_folder():
    done = subprocess.run(
        [sys.executable, str(TOOL), 'nowhere'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert 'nowhere is no folder' in done.stderr


BROWSER = shutil.which('chromium') or shutil.which('google-chrome')


@pytest.mark.skipif(not BROWSER, reason='no chromium here')
@pytest.mark.parametrize('width', [500, 1280])
def test_in_a_browser(work_dir, tmp_path, width):
    """The page opens, and nothing is wider than the window."""
    page = Path(write_report(find_runs([str(work_dir)]), str(tmp_path / 'o')))
    probe = (
        '<script>addEventListener("load", () => {'
        'document.body.dataset.overflow = '
        'document.documentElement.scrollWidth - innerWidth;'
        'document.body.dataset.charts = '
        'document.querySelectorAll("svg").length;});</script>'
    )
    page.write_text(page.read_text().replace('</head>', f'{probe}</head>'))
    done = subprocess.run(
        [
            BROWSER,
            '--headless',
            '--no-sandbox',
            '--disable-gpu',
            '--disable-background-networking',
            '--disable-component-update',
            '--disable-sync',
            '--no-first-run',
            f'--user-data-dir={tmp_path / "profile"}',
            f'--window-size={width},900',
            '--dump-dom',
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    overflow = re.search(r'data-overflow="(-?\d+)"', done.stdout)
    assert overflow and int(overflow[1]) <= 0, done.stderr[-500:]
    assert 'data-charts="3"' in done.stdout
    assert 'mIoU over the steps' in done.stdout
