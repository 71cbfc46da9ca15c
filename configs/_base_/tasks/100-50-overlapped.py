continual = dict(task='100-50', setting='overlapped')
