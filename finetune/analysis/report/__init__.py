"""`finetune report`: one HTML file about one or several runs, which needs no network and no other file."""
