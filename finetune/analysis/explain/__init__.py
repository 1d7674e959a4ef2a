"""The page of `finetune explain`."""
