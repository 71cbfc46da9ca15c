continual = dict(task='19-1', setting='disjoint')
