"""Devices, the numeric precision that each supports natively, and their memory."""

import atexit
import gc
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import parse_flag_from_env

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.models.caller_state import use_deterministic

# Values of ONEDNN_MAX_CPU_ISA with which oneDNN computes bf16 by way of fp32, whatever the processor has.
WITHOUT_BF16 = {"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI"}


def resolve_device(name: str | None) -> torch.device:
    """`cpu`, `cuda`, `cuda:1` or `mps`; by default the best available. Raises UserError for an unavailable device."""
    available = ["cpu"]
    if torch.cuda.is_available():
        available += ["cuda", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    if name is not None and name not in available:
        raise UserError(f"device '{name}' is not available", f"This machine has {', '.join(available)}")
    if name is None and parse_flag_from_env("ACCELERATE_USE_CPU"):
        name = "cpu"
    return torch.device(name or ("cuda" if "cuda" in available else available[-1]))


def resolve_precision(wanted: str, device: torch.device) -> str:
    """`auto` becomes bf16 where the hardware supports it, else fp32. Raises UserError for an unsupported precision."""
    native_bf16 = _native_bf16(device)
    if wanted == "auto":
        return "bf16" if native_bf16 else "fp32"
    if wanted == "fp16" and device.type != "cuda":
        raise UserError(f"precision 'fp16' needs a CUDA device, this run is on {device.type}", "Use fp32, bf16 or auto")
    return wanted


def usable_precision(trained_in: str, device: torch.device) -> str:
    """The precision for inference: as in training if the device supports it natively, else fp32."""
    if trained_in == "auto":
        return resolve_precision("auto", device)
    native = {"fp16": device.type == "cuda", "bf16": _native_bf16(device)}
    return trained_in if native.get(trained_in) else "fp32"


def build_accelerator(device: torch.device, precision: str) -> Accelerator:
    """Builds an Accelerator for the device: one process, or as many as a launcher started."""
    if device.type == "cuda":
        if device.index is not None:
            torch.cuda.set_device(device)
        torch.cuda.reset_peak_memory_stats()
    # Accelerate keeps device and precision for the whole process, which may run several recipes one after the other.
    launched = "RANK" in os.environ
    AcceleratorState._reset_state(reset_partial_state=not launched)
    if launched:
        _require_group()
        import_module("torch.distributed.nn")  # if it is imported later, it keeps the connections open at the end
        atexit.register(_leave_processes)
    return Accelerator(cpu=device.type == "cpu", mixed_precision="no" if precision == "fp32" else precision)


def _require_group() -> None:
    """Raises UserError where RANK is set, but not the other variables by which a launcher's processes connect."""
    numbers = {name: os.environ.get(name, "0") for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
    remedy = "Start it with torchrun, or unset RANK and WORLD_SIZE"
    for name, value in numbers.items():
        if not value.isdecimal():
            raise UserError(f"{name} is '{value}', and a launcher sets a number", remedy)
    lacking = [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if int(numbers["WORLD_SIZE"]) > 1 and lacking:
        raise UserError(f"RANK is set, as by a launcher, but not {' and '.join(lacking)}", remedy)


def describe_device(device: torch.device) -> str:
    """The device's display name, such as `NVIDIA H100` or `cpu (x86_64, 2 threads)`."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {so_many(torch.get_num_threads(), 'thread')})"


def peak_memory(device: torch.device) -> int:
    """Peak memory in bytes: of the GPU by this run, else of main memory by this process since it started."""
    return torch.cuda.max_memory_reserved(device) if device.type == "cuda" else main_memory()


def main_memory() -> int:
    """Peak main memory in bytes of this process since it started."""
    if sys.platform == "win32":
        return 0  # not available on Windows
    status = Path("/proc/self/status")  # of Linux, where `ru_maxrss` begins with the memory of the parent process
    for line in status.read_text(encoding="ascii", errors="replace").splitlines() if status.is_file() else ():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether torch could not allocate memory for a tensor, on a GPU or the CPU."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def set_deterministic(wanted: bool) -> None:
    """Makes torch use algorithms that give the same bits every time, or the fastest ones."""
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    use_deterministic(wanted)
    torch.backends.cudnn.deterministic = wanted


def _native_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":  # avx512_bf16 or AMX; elsewhere bf16 is emulated and slower than fp32
        if os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper() in WITHOUT_BF16:
            return False
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return False


def _leave_processes() -> None:
    """Ends the connections to a launcher's other processes.

    A thread of gloo that holds a tensor when the interpreter ends would abort a process whose work is done. NCCL would
    wait here for processes that failed.
    """
    if dist.is_initialized() and dist.get_backend() == "gloo":
        gc.collect()  # a model in memory would keep the connections
        dist.destroy_process_group()
