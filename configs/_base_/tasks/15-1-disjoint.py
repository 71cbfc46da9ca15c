continual = dict(task='15-1', setting='disjoint')
