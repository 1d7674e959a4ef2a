"""Products by oneDNN are those of torch, on the processors where they are faster."""

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn

from finetune.models.kernels import cpu
from finetune.models.kernels.cpu import gradients_of_product, product, take_fast_products

HAS_ONEDNN = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch is built without oneDNN")


@pytest.fixture(params=[pytest.param(True, marks=HAS_ONEDNN), False], ids=["onednn", "mkl"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether oneDNN computes, whatever this processor is."""
    monkeypatch.setattr(cpu, "is_faster_by_onednn", lambda: request.param)
    monkeypatch.setattr(cpu, "LEAST_WORK", 1)
    return bool(request.param)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("m", "k", "n"), [(7, 5, 3), (1, 1, 1), (1, 6, 4), (33, 1, 2), (0, 3, 2), (64, 48, 80)])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_products_and_gradients_are_those_of_torch(m: int, k: int, n: int, kind: torch.dtype) -> None:
    torch.manual_seed(0)
    given, weight, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
    gradient, added = torch.randn(m, n), torch.randn(m, k)
    before = added.clone()
    expected = [given @ weight.T + bias, gradient.T @ given, gradient.sum(0), gradient @ weight + added]
    cast = [each.to(kind) for each in (given, weight, bias, gradient, added)]
    found = [product(cast[0], cast[1].t(), bias=cast[2])]
    found += gradients_of_product(cast[3], cast[0], cast[1], added=cast[4])
    tolerance = 0.3 if kind == torch.bfloat16 else 1e-4
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == kind
        torch.testing.assert_close(ours.float(), theirs, atol=tolerance, rtol=0.02)
    assert torch.equal(cast[4].float(), before.to(kind).float())


def passed(layer: nn.Linear, given: Tensor) -> list[Tensor | None]:
    given = given.clone().requires_grad_()
    output = layer(given)
    output /= 2  # as Longformer does
    (output**2).sum().backward()
    return [output.detach(), given.grad, layer.weight.grad, layer.bias.grad if layer.bias is not None else None]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_a_linear_layer_has_the_output_and_gradients_of_torch(frozen: bool, bias: bool) -> None:
    torch.manual_seed(0)
    plain = nn.Linear(6, 4, bias=bias).requires_grad_(not frozen)
    fast = copy.deepcopy(plain)
    take_fast_products(fast)
    given = torch.randn(2, 3, 6).transpose(0, 1)
    for ours, theirs in zip(passed(fast, given), passed(plain, given), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            torch.testing.assert_close(ours, theirs)


@HAS_ONEDNN
def test_a_linear_layer_of_onednn_is_copied_with_its_own_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "is_faster_by_onednn", lambda: True)
    monkeypatch.setattr(cpu, "LEAST_WORK", 1)
    layer = nn.Sequential(nn.Linear(3, 2))
    take_fast_products(layer)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        with torch.no_grad():
            copied[0].weight.zero_()
            copied[0].bias.fill_(1)
        with torch.autocast("cpu", torch.bfloat16):
            assert copied(torch.randn(5, 3)).dtype == torch.bfloat16
        assert torch.equal(copied(torch.randn(5, 3)), torch.ones(5, 2))


@HAS_ONEDNN
def test_an_exported_graph_has_the_products_of_torch_for_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "is_faster_by_onednn", lambda: True)
    monkeypatch.setattr(cpu, "LEAST_WORK", 60)
    layer = nn.Sequential(nn.Linear(3, 2)).eval()
    take_fast_products(layer)
    with torch.no_grad():
        graph = torch.export.export(layer, (torch.randn(5, 3),), dynamic_shapes=[{0: torch.export.Dim("rows")}])
    assert "mkldnn" not in str(graph.graph)
    given = torch.randn(50, 3)
    torch.testing.assert_close(graph.module()(given), layer(given))
