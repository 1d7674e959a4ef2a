"""Unlabelled text: documents read as a stream from files of any size, and their dev split."""

from finetune.data.documents.document import Document, read_documents
from finetune.data.documents.documents import Documents, split_documents

__all__ = ["Document", "Documents", "read_documents", "split_documents"]
