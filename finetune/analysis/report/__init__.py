"""`finetune report`: a self-contained HTML file about one or several runs."""
