"""The page about runs: complete, damaged, hostile, and in a browser."""

import base64
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from helpers import PAPERS_CONFIG, write_run
from PIL import Image

from mmseg_rbc.reporting.report import decimal, write_report
from mmseg_rbc.runs import WorkDir
from mmseg_rbc.runs.run import find_runs
from mmseg_rbc.utils.files import write_json

VOC = [f'c{i}' for i in range(21)]
VOC_SIZES = [16, 17, 18, 19, 20, 21]


@pytest.fixture
def work_dir(tmp_path) -> Path:
    """RBC with two seeds, FT with one, Joint."""
    root = tmp_path / 'runs'
    write_run(root / 'rbc/seed_0')
    write_run(root / 'rbc/seed_1', level=54.0, seed=1)
    write_run(root / 'ft', level=30.0)
    write_run(root / 'joint', sizes=[5], task='offline', level=70.0)
    return root


def write_page(*paths: Path, out: Path, **options) -> str:
    """Return the page about the runs in folders."""
    runs = find_runs(map(str, paths))
    return Path(write_report(runs, str(out), **options)).read_text()


def text_of(page: str) -> str:
    """Return what one reads, without charts."""
    page = re.sub(r'<(style|svg).*?</\1>', '', page, flags=re.DOTALL)
    return ' '.join(re.sub(r'<[^>]*>', ' ', page).split())


def row_of(page: str, name: str, table: int = 0) -> list[str]:
    """Return the cells of a run in the n-th table."""
    body = page.split('<tbody>')[table + 1].split('</tbody>')[0]
    rows = [
        [text_of(cell) for cell in row.split('</td>')[:-1]]
        for row in body.split('</tr>')
    ]
    (found,) = [row for row in rows if row and row[0] == name]
    return found


def test_numbers_of_the_page(work_dir, tmp_path):
    page = write_page(work_dir, out=tmp_path, title='My title')
    text = text_of(page)
    assert 'My title 4 runs of task 2-1 overlapped' in text
    # After step 2: IoU 30 ... 34, and 34 ... 38 with the other seed; 51, 41.5
    # and 32 in the steps; three classes lost 20, one 10. Joint has 72.
    assert row_of(page, 'rbc') == [
        'rbc',
        '3',
        '0, 1',
        *('33.0 ± 2.8', '35.5 ± 2.8', '34.0 ± 2.8'),
        *('43.5 ± 2.8', '34.2 ± 2.8', '17.5 ± 0.0'),
        '38.0',
    ]
    assert row_of(page, 'ft')[3:] == [
        *('11.0', '13.5', '12.0'),
        *('21.5', '12.1', '17.5'),
        '60.0',
    ]
    assert row_of(page, 'rbc', table=1)[3:6] == [
        '33.5 ± 2.8',
        '35.5 ± 2.8',
        '34.5 ± 2.8',
    ]
    assert row_of(page, 'joint')[-2:] == ['-', '0.0']
    assert 'ft has no result with seed 1' in text
    assert row_of(page, 'cow', table=2) == ['cow', '', '23.0', '13.0']


def test_files_beside_the_page(work_dir, tmp_path):
    out = tmp_path / 'out'
    write_page(work_dir, out=out)
    pictures = ['curves', 'forgetting', 'losses']
    pictures += [f'heatmap_{name}' for name in ('ft', 'joint', 'rbc')]
    assert sorted(path.name for path in out.iterdir()) == sorted(
        ['report.html', 'summary.csv', 'iou.csv', 'tables.md']
        + [f'{name}.png' for name in pictures]
    )
    for name in pictures:
        with Image.open(out / f'{name}.png') as image:
            assert image.width > 200


def test_sections_and_their_order(work_dir, tmp_path):
    Image.new('RGB', (8, 8)).save(tmp_path / 'a.png')
    step = WorkDir(str(work_dir / 'ft')).step(1)
    write_json(step.context_bias, dict(mean=dict(flipped=2.5, lost=None)))
    shutil.copy(tmp_path / 'a.png', step.co_occurrence_picture)
    page = write_page(
        work_dir, out=tmp_path, pictures={'Some': str(tmp_path / 'a.png')}
    )
    assert re.findall('<h2>(.*)</h2>', page) == [
        'Results',
        'mIoU over the steps',
        'IoU of every class in every step',
        'Forgetting',
        'Context bias',
        'Predictions',
        'Training',
        'Time and memory',
        'Configs and versions',
    ]
    assert row_of(page, 'ft', table=5) == ['ft', '2.5', *'----']
    data = base64.b64encode((tmp_path / 'a.png').read_bytes()).decode()
    assert page.count(f'src="data:image/png;base64,{data}"') == 2
    assert page.count('<details open>') == 3


def test_page_needs_no_network(work_dir, tmp_path):
    page = write_page(work_dir, out=tmp_path)
    found = re.findall(r'(?:src|href)="?([^"\s>]+)', page)
    assert found and all(x.startswith(('#', 'data:')) for x in found), found
    assert '<script' not in page


class Elements(HTMLParser):
    """Collect tags and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attributes)


def test_names_are_text(work_dir, tmp_path):
    nasty = ['background', '<script>alert(1)</script>', '$x_1$', 'a&b"\'']
    run = write_run(
        tmp_path / '<img src=x onerror=y>',
        nasty,
        [3, 4],
        seed='<u>0</u>',
        config='a = "</pre><s>"',
        versions=dict(device='<q>'),
    )
    Path(run.step(1).finished).write_text('{"seed": "<b>bold</b>"')
    Image.new('RGB', (8, 8)).save(tmp_path / 'a.png')
    page = write_page(
        Path(run.path),
        out=tmp_path / 'o',
        title='<i>t</i>',
        pictures={'"><s onload=z>': str(tmp_path / 'a.png')},
        problems=['<em>'],
    )
    assert '<script>alert' not in page and '<img src=x' not in page
    assert '<i>t</i>' not in page and '<b>bold' not in page
    assert '&lt;script&gt;alert(1)&lt;/script&gt;' in page
    found = Elements(page)
    assert not found.tags & {'script', 'u', 's', 'q', 'em'}
    assert not found.attributes & {'onerror', 'onload'}


def test_damaged_runs_are_shown_as_far_as_they_go(work_dir, tmp_path):
    ft, first, second = (
        WorkDir(str(work_dir / name))
        for name in ('ft', 'rbc/seed_0', 'rbc/seed_1')
    )
    Path(ft.step(2).finished).unlink()
    Path(second.step(1).metrics).write_text('{')
    metrics = json.loads(Path(first.step(2).metrics).read_text())
    metrics['IoU']['cat'] = None
    write_json(first.step(2).metrics, metrics)
    (work_dir / 'empty').mkdir()
    page = write_page(work_dir, work_dir / 'empty', out=tmp_path)
    text = text_of(page)
    assert 'step 2 has a result but is not marked as finished' in text
    assert f'{second.step(1).metrics} cannot be read' in text
    assert 'empty holds no step' in text
    assert row_of(page, 'ft')[1] == '2 of 3'


def test_seeds_that_got_less_far_are_left_out(work_dir, tmp_path):
    second = WorkDir(str(work_dir / 'rbc/seed_1'))
    for step in (1, 2):
        Path(second.step(step).finished).unlink()
    page = write_page(work_dir, out=tmp_path)
    assert 'rbc/seed_1 got to step 0 only' in text_of(page)
    assert row_of(page, 'rbc')[2:6] == ['0', '31.0', '33.5', '32.0']


def test_unfinished_run_has_no_level_and_no_forgetting(tmp_path):
    run = write_run(tmp_path / 'plop')
    for step in (1, 2):
        Path(run.step(step).finished).unlink()
    page = write_page(Path(run.path), out=tmp_path / 'o')
    assert 'Forgetting</h2>' not in page
    assert row_of(page, 'plop')[1] == '1 of 3'
    assert not (tmp_path / 'o/forgetting.png').exists()


def test_text_of_charts_is_text(work_dir, tmp_path):
    page = write_page(work_dir, out=tmp_path)
    assert re.search('<text[^>]*>[^<]*mIoU of all seen', page)
    assert 'mathdefault' not in page, 'no raw formulas'


def test_nothing_to_show(tmp_path):
    (tmp_path / 'x').mkdir()
    page = write_page(tmp_path / 'x', out=tmp_path / 'o')
    assert 'No step has a result yet' in page


@pytest.mark.parametrize('same', [True, False])
def test_numbers_of_the_paper(tmp_path, same):
    config = PAPERS_CONFIG if same else 'a = 1\n'
    write_run(tmp_path / 'rbc_x', VOC, VOC_SIZES, '15-1', config=config)
    page = write_page(tmp_path, out=tmp_path / 'o')
    assert row_of(page, 'rbc_x')[-1] == '69.5 / 38.4 / 62.1' + ' †' * (
        not same
    )
    assert ('The paper used another setup' in page) == (not same)
    assert 'paper: old' not in page.split('Without background')[1]


@pytest.mark.parametrize(
    'value, text', [(1.25, '1.2'), (-0.04, '-0.0'), (float('nan'), '-')]
)
def test_decimal(value, text):
    assert decimal(value) == text


BROWSER = shutil.which('chromium') or shutil.which('google-chrome')


@pytest.mark.skipif(not BROWSER, reason='no chromium here')
@pytest.mark.parametrize('width', [500, 1280])
def test_in_a_browser(work_dir, tmp_path, width):
    """The page opens, and nothing is wider than the window."""
    page = tmp_path / 'report.html'
    text = write_page(work_dir, out=tmp_path)
    probe = (
        '<script>addEventListener("load", () => {'
        'document.body.dataset.overflow = '
        'document.documentElement.scrollWidth - innerWidth;'
        'document.body.dataset.charts = '
        'document.querySelectorAll("svg").length;});</script>'
    )
    page.write_text(text.replace('</head>', f'{probe}</head>'))
    done = subprocess.run(
        [
            BROWSER,
            '--headless',
            '--no-sandbox',
            '--disable-gpu',
            '--disable-quic',
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
        timeout=300,
    )
    overflow = re.search(r'data-overflow="(-?\d+)"', done.stdout)
    assert overflow and int(overflow[1]) <= 0, done.stderr[-500:]
    assert 'data-charts="3"' in done.stdout
    assert 'mIoU over the steps' in done.stdout
