continual = dict(task='100-10', setting='overlapped')
