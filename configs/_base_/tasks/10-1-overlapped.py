continual = dict(task='10-1', setting='overlapped')
