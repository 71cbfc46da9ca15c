"""The recipe: what keeps later steps healthy on any network and image size.

.. code-block:: python

    recipe = dict(
        freeze_norm=True,  # running statistics of batch norms stay
        frozen=['backbone'],  # what does not learn
        relative_pod=1.0,  # POD relative to the teacher, with this weight
        relative_consistency=0.03,  # RBC's consistency, by its logits
        equal_steps=True,  # as many with erased views as without
        new_share=0.1,  # of background's probability, for the new classes
        new_rows_lr=5.0,  # new rows of the classifier learn faster
        warmup_iters=10,  # the learning rate rises over so many iterations
        clip_norm=1.0,  # gradients are clipped to this norm
    )

Every switch is optional and works with every method; docs/tuning.md says when
to use which. ``equal_steps`` is for the length of a step
(:func:`.training_loop.set_length`), the others are set here.
"""

from __future__ import annotations

from mmengine.config import Config

# In a relative POD the logits keep a twentieth of the weight: their distance
# is not zero at the start of a step, because the new logits are added to
# background's.
LOGITS_SHARE = 0.05
# The losses that a switch makes relative, and the switch that holds their
# weight.
RELATIVE_SWITCHES = {
    'LocalPODLoss': 'relative_pod',
    'ContextConsistencyLoss': 'relative_consistency',
}


def apply_recipe(cfg: Config) -> None:
    """Put the recipe into the config of a later step, in place."""
    recipe = cfg.get('recipe') or {}
    if recipe.get('freeze_norm'):
        cfg.model.freeze_norm = True
    if recipe.get('frozen'):
        cfg.model.frozen = list(recipe['frozen'])
    for loss in (cfg.model.method.get('losses') or {}).values():
        weight = recipe.get(RELATIVE_SWITCHES.get(loss['type']))
        if weight:
            loss.update(relative=True, weight=weight)
            if loss['type'] == 'LocalPODLoss':
                loss['logits_weight'] = LOGITS_SHARE * weight
    method = cfg.model.method
    starts = ('balanced', 'weighted')
    if recipe.get('new_share') and method.get('classifier_init') in starts:
        method.new_share = recipe['new_share']
    if recipe.get('new_rows_lr'):
        hook = dict(type='NewRowsHook', factor=recipe['new_rows_lr'])
        cfg.custom_hooks = [*(cfg.get('custom_hooks') or []), hook]
    if recipe.get('warmup_iters'):
        rise = dict(
            type='LinearLR',
            start_factor=0.01,
            by_epoch=False,
            begin=0,
            end=recipe['warmup_iters'],
        )
        cfg.param_scheduler = [rise, *cfg.get('param_scheduler', [])]
    if recipe.get('clip_norm'):
        cfg.optim_wrapper.clip_grad = dict(max_norm=recipe['clip_norm'])
