"""The page of `finetune view`."""
