continual = dict(task='100-5', setting='overlapped')
