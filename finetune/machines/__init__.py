"""Work on other processes and machines: a Ray cluster, the size of a task there, folder and threads of a process."""
