"""Where the time of a training update goes on a CPU, by kind of operation, in each precision.

python benchmarks/step_profile.py --data DIR --out results/benchmarks/step_profile.json

MiniLM on MRPC in batches of 32, by torch's profiler; needs an idle machine.
"""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json
from measuring import MODEL, TRAIN, WARM_UP, Job, as_in_a_run, fresh, limits, unscored, untrained_ours
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.profiler import ProfilerActivity, profile

from finetune.training.trainer import Trainer

PRECISIONS = ("fp32", "bf16")
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
    found, timed, updates = profile(activities=[ProfilerActivity.CPU]), job.updates - 1, 0

    def counted(*_: Any) -> None:
        nonlocal updates
        updates += 1
        if updates == WARM_UP:
            found.start()
        elif updates == WARM_UP + timed:
            found.stop()

    register_optimizer_step_post_hook(counted)
    Trainer(engine=engine, settings=job.train, data_seed=job.seed).fit(features, unscored)
    kinds = {name: kind for kind, names in KINDS.items() for name in names}
    milliseconds: defaultdict[str, float] = defaultdict(float)
    for event in found.key_averages():
        milliseconds[kinds.get(event.key, "the rest")] += event.self_cpu_time_total / 1e3 / timed
    return {kind: milliseconds[kind] for kind in (*KINDS, "the rest")}


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Where the time of a training update goes")
    parser.add_argument("--data", type=Path, help="folder with MRPC's files; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--updates", type=int, default=16)
    options = parser.parse_args()
    facts = machine.facts()
    job, runs = Job(data=options.data, updates=options.updates, seed=0), dict[str, Any]()
    for precision in PRECISIONS:
        chosen = replace(job, train=TRAIN.model_copy(update={"precision": precision}))
        runs[precision] = fresh(measured, replace(chosen, updates=options.updates + 1))
        print(precision, {kind: round(each, 1) for kind, each in runs[precision].items()}, flush=True)
    settings = {"model": MODEL, "batch_size": TRAIN.batch_size, "updates": options.updates}
    about = "milliseconds of a training update by kind of operation, by torch's profiler"
    write_json(options.out, {"about": about, **facts, "gflops": fresh(limits), "settings": settings, "runs": runs})


if __name__ == "__main__":
    main()
