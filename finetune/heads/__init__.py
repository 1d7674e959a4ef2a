"""One file a shape of task: its head (Devlin et al. 2019, Figure 4) and the Task that reads and decodes for it."""
