continual = dict(task='15-5', setting='overlapped')
