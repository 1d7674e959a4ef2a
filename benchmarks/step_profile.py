"""Where the time of a training update goes on a CPU, by kind of operation, in each precision.

python benchmarks/step_profile.py --data DIR --out results/benchmarks/step_profile.json

MiniLM on MRPC in batches of 32, by torch's profiler; needs an idle machine.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

from machine import options, write
from measuring import MODEL, TRAIN, WARM_UP, Job, as_in_a_run, fresh, limits, unscored, untrained_ours
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.profiler import ProfilerActivity, profile

from finetune.training.trainer import Trainer

KINDS = {  # by the names of torch's operations; what is in none of them is the rest
    "products": ("aten::mm", "aten::addmm", "aten::baddbmm", "aten::bmm", "mkldnn::_linear_pointwise"),
    "copies and casts": ("aten::copy_",),
    "dropout": ("_Part", "aten::bitwise_and", "_Dropout"),  # masks are made in the functions of a layer's parts
    "GELU": ("aten::gelu", "aten::gelu_backward"),
    "softmax": ("aten::_softmax", "aten::_softmax_backward_data"),
    "LayerNorm": ("aten::native_layer_norm", "aten::native_layer_norm_backward"),
    "optimizer and clipping": ("aten::_fused_adamw_", "aten::linalg_vector_norm", "aten::_foreach_mul_", "aten::mul_"),
}


def measured(job: Job) -> dict[str, float]:
    """Milliseconds of an update by kind; one update of the job is left, since training ends with work of its own."""
    engine, features = untrained_ours(as_in_a_run, job)
    profiler, timed, updates = profile(activities=[ProfilerActivity.CPU]), job.updates - 1, 0

    def counted(*_: Any) -> None:
        nonlocal updates
        updates += 1
        if updates == WARM_UP:
            profiler.start()
        elif updates == WARM_UP + timed:
            profiler.stop()

    register_optimizer_step_post_hook(counted)
    Trainer(engine=engine, settings=job.train, data_seed=job.seed).fit(features, unscored)
    kinds = {name: kind for kind, names in KINDS.items() for name in names}
    milliseconds: defaultdict[str, float] = defaultdict(float)
    for event in profiler.key_averages():
        milliseconds[kinds.get(event.key, "the rest")] += event.self_cpu_time_total / 1e3 / timed
    return {kind: milliseconds[kind] for kind in (*KINDS, "the rest")}


def main() -> None:
    """Measures, prints and writes."""
    given = options(__doc__, data=Path, updates=16)
    runs = {
        precision: fresh(
            measured,
            Job(data=given.data, updates=given.updates + 1, train=TRAIN.model_copy(update={"precision": precision})),
        )
        for precision in ("fp32", "bf16")
    }
    settings = {"model": MODEL, "batch_size": TRAIN.batch_size, "updates": given.updates}
    about = "milliseconds of a training update by kind of operation, by torch's profiler"
    write(given.out, about, {"gflops": fresh(limits), "settings": settings, "runs": runs})


if __name__ == "__main__":
    main()
