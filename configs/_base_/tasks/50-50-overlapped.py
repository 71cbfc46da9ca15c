continual = dict(task='50-50', setting='overlapped')
