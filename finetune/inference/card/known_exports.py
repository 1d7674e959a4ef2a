"""KnownExport: an export of a run as its card tells of it."""

from dataclasses import dataclass
from pathlib import Path

from finetune.errors import UserError
from finetune.inference.exported.export_facts import ExportFacts, is_export, read_export_facts
from finetune.models.fingerprint import fingerprint_of


@dataclass(frozen=True, kw_only=True)
class KnownExport:
    """The folder of an export, and what its `export.json` says."""

    folder: Path
    facts: ExportFacts

    @property
    def name(self) -> str:
        """The name of its folder, also in a repository."""
        return self.folder.resolve().name

    @property
    def engine(self) -> str:
        """`onnx fp32`, `onnx int8`, `onnx int8, 7 bits`."""
        facts = self.facts
        words = f"{facts.engine} {facts.precision}"
        return f"{words}, {facts.bits} bits" if facts.bits and facts.bits != 8 else words

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(file.stat().st_size for file in self.folder.iterdir() if file.is_file())


def known_export(folder: Path, model: Path, run: str) -> KnownExport:
    """The export of a run's model in a folder. Raises UserError where there is none, or of another model."""
    if not is_export(folder):
        raise UserError(f"{folder}: is not an export", f"Write one: finetune export {run} -o {folder}")
    facts = read_export_facts(folder)
    if facts.source.fingerprint != fingerprint_of(model):
        what = f"{folder}: is an export of run {facts.source.run}, not of the model of {run}"
        raise UserError(what, f"Write one: finetune export {run} -o FOLDER")
    return KnownExport(folder=folder, facts=facts)
