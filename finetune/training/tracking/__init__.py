"""Trackers: what TensorBoard, MLflow, Weights & Biases, Trackio and others are sent of a run, in threads."""
