# For small networks, small images and data of your own, where the weights and
# the schedule of a ResNet-101 at 512 pixels do not fit: see docs/tuning.md.
recipe = dict(
    # Statistics of the few images of a step would replace those of step 0.
    freeze_norm=True,
    # POD relative to the teacher does not depend on network and image size.
    relative_pod=1.0,
    # The same for RBC's consistency, which smaller logits would satisfy.
    relative_consistency=0.03,
    # A new class takes little of background, which then needs not win it back.
    new_share=0.1,
    # A new row starts as background, and is slow to leave it.
    new_rows_lr=5.0,
)
