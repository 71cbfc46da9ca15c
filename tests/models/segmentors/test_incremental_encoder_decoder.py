"""The segmentor as a whole, on a network of a few weights."""

import copy

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from model_cases import network, trained_network

from mmseg_rbc.models.losses import balance_weight, pixel_cross_entropy
from mmseg_rbc.models.outputs import run_network

OLD, SEEN = 3, 5
PLOP = dict(
    classifier_init='balanced',
    pseudo_labeler=dict(type='EntropyPseudoLabeler'),
    losses=dict(pod=dict(type='LocalPODLoss')),
)
RBC = dict(
    PLOP,
    balance=True,
    losses=dict(
        pod=dict(type='LocalPODLoss'),
        consistency=dict(type='ContextConsistencyLoss'),
    ),
)


@pytest.fixture
def previous(tmp_path):
    """A checkpoint of the previous step."""

    def save(aux=False, meta=None):
        model = trained_network(OLD, aux)
        path = str(tmp_path / 'previous.pth')
        info = dict(dataset_meta=meta or {})
        torch.save(dict(state_dict=model.state_dict(), meta=info), path)
        return dict(checkpoint=path, num_classes=OLD, expected=meta or {})

    return save


def batch(count=2, duplet=False, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, 3, size, size, generator=g)
    target = torch.randint(0, SEEN, (count, size, size), generator=g)
    target[target < OLD] = 0
    target[:, :2] = 255
    views = [(inputs, target, 'full')]
    if duplet:
        keep = target < OLD
        erased = torch.where(keep, target, 255)
        views.append((inputs * keep[:, None], erased, 'erased'))
    samples = []
    for _, labels, view in views:
        for label in labels:
            sample = SegDataSample(metainfo=dict(view=view))
            sample.gt_sem_seg = PixelData(data=label[None])
            samples.append(sample)
    return torch.cat([v[0] for v in views]), samples


def build(previous, method, aux=False, thresholds=0.05, **kwargs):
    torch.manual_seed(2)
    model = MODELS.build(
        network(SEEN, aux, method=method, previous=previous, **kwargs)
    )
    model.init_weights()
    if thresholds and model.pseudo_labeler is not None:
        model.pseudo_labeler.thresholds = torch.full((OLD,), thresholds)
    return model


def test_base_step_is_plain_cross_entropy():
    model = MODELS.build(network(OLD))
    model.init_weights()
    inputs, samples = batch()
    for sample in samples:
        sample.gt_sem_seg.data[sample.gt_sem_seg.data == 3] = 1
        sample.gt_sem_seg.data[sample.gt_sem_seg.data == 4] = 2
    losses = model.loss(inputs, samples)
    assert list(losses) == ['loss_ce']
    logits = run_network(model, inputs).logits
    target = torch.cat([s.gt_sem_seg.data for s in samples])
    torch.testing.assert_close(
        losses['loss_ce'], pixel_cross_entropy(logits, target)
    )
    assert model.teacher is None


def test_student_starts_as_the_teacher(previous):
    model = build(previous(), PLOP, fuse_teacher=False).eval()
    inputs, _ = batch()
    with torch.no_grad():
        student = run_network(model, inputs)
        teacher = run_network(model.teacher, inputs)
    for a, b in zip(student.feats, teacher.feats):
        assert torch.equal(a, b)
    p, q = teacher.logits.softmax(1), student.logits.softmax(1)
    torch.testing.assert_close(q[:, 1:OLD], p[:, 1:], rtol=1e-4, atol=1e-6)


def test_rbc_loss_from_its_parts(previous):
    """Refinement and criterion, put together by hand."""
    model = build(previous(), RBC, thresholds=0.2)
    inputs, samples = batch(2, duplet=True)
    losses = model.loss(inputs, samples)
    assert list(losses) == ['loss_ce', 'loss_pod', 'loss_consistency']
    with torch.no_grad():
        teacher = run_network(model.teacher, inputs, 2)
        student = run_network(model, inputs, 2)
    raw = torch.cat([s.gt_sem_seg.data for s in samples])
    full = raw[:2]
    refined, beta = model.pseudo_labeler(teacher, full, SEEN)
    assert beta.min() > 0 and (refined != full).any()
    erased = torch.where(raw[2:] == 255, 255, refined)
    assert (erased[full >= OLD] == 255).all()
    eta = balance_weight(refined, OLD)
    assert eta.max() > 1
    ce = torch.nn.functional.cross_entropy(
        student.logits,
        torch.cat([refined, erased]),
        ignore_index=255,
        reduction='none',
    )
    weight = torch.cat(
        [beta[:, None, None] * eta, beta[:, None, None] + 0 * eta]
    )
    torch.testing.assert_close(losses['loss_ce'], (ce * weight).mean())
    target = torch.cat([refined, erased])
    for name, module in model.losses.items():
        expected = module(student, teacher, target)
        torch.testing.assert_close(losses[f'loss_{name}'], expected)


def test_doubled_images_get_the_same_labels(previous):
    model = build(previous(), PLOP)
    inputs, samples = batch(2, duplet=True)
    for a, b in zip(samples[:2], samples[2:]):
        b.gt_sem_seg.data = a.gt_sem_seg.data.clone()
    teacher = run_network(model.teacher, torch.cat([inputs[:2]] * 2), 2)
    raw = torch.cat([s.gt_sem_seg.data for s in samples])
    target, weight = model.refine(teacher, raw)
    assert torch.equal(*target.chunk(2))
    assert torch.equal(*weight.chunk(2))


@pytest.mark.parametrize('method', [PLOP, RBC])
def test_weight_of_the_full_views(previous, method):
    plain = build(previous(), method)
    heavy = build(previous(), dict(method, full_view_weight=2.0))
    inputs, samples = batch(2, duplet=True)
    teacher = run_network(plain.teacher, inputs, 2)
    raw = torch.cat([s.gt_sem_seg.data for s in samples])
    (_, weight), (_, heavier) = (
        m.refine(teacher, raw) for m in (plain, heavy)
    )
    full, erased = weight.chunk(2)
    assert torch.equal(heavier, torch.cat([2 * full, erased]))
    # One view is not weighed.
    teacher = run_network(plain.teacher, inputs[:2])
    a, b = (m.refine(teacher, raw[:2])[1] for m in (plain, heavy))
    assert torch.equal(a, b)


def test_teacher_is_hidden_and_frozen(previous):
    model = build(previous(), RBC)
    stock = MODELS.build(dict(network(SEEN), type='EncoderDecoder'))
    assert set(model.state_dict()) == set(stock.state_dict())
    assert not any('teacher' in name for name, _ in model.named_modules())
    model.train()
    assert not any(m.training for m in model.teacher.modules())
    before = copy.deepcopy(model.teacher.state_dict())
    inputs, samples = batch(2, duplet=True)
    sum(model.loss(inputs, samples).values()).backward()
    assert all(p.grad is None for p in model.teacher.parameters())
    assert all(p.grad is not None for p in model.parameters())
    for key, value in model.teacher.state_dict().items():
        assert torch.equal(value, before[key])


def test_each_network_runs_once(previous):
    model = build(previous(), RBC)
    calls = []
    for name, net in (('student', model), ('teacher', model.teacher)):
        net.backbone.register_forward_hook(
            lambda *_, name=name: calls.append(name)
        )
    model.loss(*batch(2, duplet=True))
    assert calls == ['student', 'teacher']


def test_auxiliary_head_grows_and_learns(previous):
    model = build(previous(aux=True), PLOP, aux=True)
    assert model.auxiliary_head.conv_seg.out_channels == SEEN
    losses = model.loss(*batch())
    assert set(losses) == {'loss_ce', 'loss_pod', 'aux_0.loss_ce'}
    sum(losses.values()).backward()
    assert model.auxiliary_head.conv_seg.weight.grad.abs().sum() > 0


def test_loss_weights_of_heads_are_honored(previous):
    """Also in step 1, on pseudo-labels; only the criterion is weighted."""
    info = previous(aux=True)
    plain = build(info, PLOP, aux=True)
    cfg = network(SEEN, aux=True, method=PLOP, previous=info)
    loss = dict(type='CrossEntropyLoss', loss_weight=3.0)
    cfg['decode_head']['loss_decode'] = loss
    cfg['auxiliary_head']['loss_decode'] = dict(loss, loss_weight=0.4)
    weighted = MODELS.build(cfg)
    weighted.init_weights()
    weighted.load_state_dict(plain.state_dict())
    weighted.pseudo_labeler.thresholds = plain.pseudo_labeler.thresholds
    expected, found = plain.loss(*batch()), weighted.loss(*batch())
    factors = {'loss_ce': 3, 'aux_0.loss_ce': 0.4, 'loss_pod': 1}
    assert found.keys() == factors.keys()
    for key, factor in factors.items():
        assert expected[key] > 0
        torch.testing.assert_close(found[key], factor * expected[key])


@pytest.mark.parametrize('head', ['decode_head', 'auxiliary_head'])
def test_unused_settings_of_a_head_are_refused_at_build_time(head):
    cfg = network(SEEN, aux=True)
    cfg[head]['loss_decode'] = dict(type='DiceLoss')
    with pytest.raises(
        ValueError, match=r'loss_decode of FCNHead \(DiceLoss\)'
    ):
        MODELS.build(cfg)


def test_mixed_precision_is_close_and_finite(previous):
    model = build(previous(), RBC)
    inputs, samples = batch(2, duplet=True)
    plain = model.loss(inputs, samples)
    with torch.autocast('cpu', torch.bfloat16):
        mixed = model.loss(inputs, samples)
    for value in mixed.values():
        assert value.dtype == torch.float32
        assert torch.isfinite(value)
    torch.testing.assert_close(
        mixed['loss_ce'], plain['loss_ce'], rtol=0.1, atol=0.05
    )


def test_prediction_is_that_of_stock_mmseg(previous):
    model = build(previous(), RBC).eval()
    stock = MODELS.build(dict(network(SEEN), type='EncoderDecoder')).eval()
    stock.load_state_dict(model.state_dict())
    inputs, _ = batch()
    with torch.no_grad():
        a, b = model.predict(inputs), stock.predict(inputs)
    for x, y in zip(a, b):
        assert torch.equal(x.seg_logits.data, y.seg_logits.data)


def test_errors(previous, tmp_path):
    info = previous(meta=dict(task='15-1', classes=('a', 'b', 'c'), step=0))
    good = dict(task='15-1', classes=['a', 'b', 'c'], step=0)
    build(dict(info, expected=good), PLOP)
    for key, value in (
        ('task', '10-1'),
        ('classes', ['a', 'c', 'b']),
        ('step', 1),
    ):
        wrong = dict(info, expected={**good, key: value})
        with pytest.raises(ValueError, match=f'was trained with {key} '):
            build(wrong, PLOP)
    missing = dict(info, checkpoint=str(tmp_path / 'no.pth'))
    with pytest.raises(FileNotFoundError, match=r'no\.pth does not exist'):
        build(missing, PLOP)
    with pytest.raises(ValueError, match="classifier_init='x' is unknown"):
        build(info, dict(classifier_init='x'))
    for method in (PLOP, {}):
        untouched = MODELS.build(network(SEEN, method=method, previous=info))
        with pytest.raises(RuntimeError, match='init_weights'):
            untouched.loss(*batch())
    no_thresholds = build(info, PLOP, thresholds=None)
    with pytest.raises(RuntimeError, match='thresholds of the pseudo-labels'):
        no_thresholds.loss(*batch())


def test_head_without_classifier_is_refused_at_build_time():
    cfg = network(SEEN)
    cfg['decode_head'] = dict(
        type='SegmenterMaskTransformerHead',
        in_channels=8,
        channels=8,
        num_classes=SEEN,
        num_layers=1,
        num_heads=1,
        embed_dims=8,
    )
    with pytest.raises(ValueError, match='no classifier that can grow'):
        MODELS.build(cfg)
