# LwF: knowledge distillation.
_base_ = './ft.py'
method = dict(
    losses=dict(kd=dict(type='KnowledgeDistillationLoss', weight=100.0))
)
