continual = dict(task='offline', setting='overlapped')
