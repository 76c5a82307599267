"""The baseline of detection_step.py: DBNet with ResNet-18 and its loss in PyTorch, on one batch."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as f

WIDTHS = (64, 128, 256, 512)
OUT, QUARTER, K, EPS = 256, 64, 50, 1e-6


def normalised(before: int, after: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """A convolution and a normalisation."""
    convolution = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after))


class Block(nn.Module):
    """Layer for layer a BasicBlock of hccl_kit.ocr.models.detector."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.one = normalised(before, width, 3, stride)
        self.two = normalised(width, width, 3)
        self.shortcut = nn.Identity() if before == width else normalised(before, width, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return f.relu(self.two(f.relu(self.one(x))) + self.shortcut(x))


def branch() -> nn.Sequential:
    """Layer for layer a branch of hccl_kit.ocr.models.db."""
    return nn.Sequential(
        *normalised(OUT, QUARTER, 3),
        nn.ReLU(),
        nn.ConvTranspose2d(QUARTER, QUARTER, 2, 2),
        nn.BatchNorm2d(QUARTER),
        nn.ReLU(),
        nn.ConvTranspose2d(QUARTER, 1, 2, 2),
        nn.Sigmoid(),
    )


class DBNet(nn.Module):
    """Layer for layer the network of configs/det/dbnet/db_r18_icdar15.yaml."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(*normalised(3, 64, 7, 2), nn.ReLU(), nn.ZeroPad2d((0, 1, 0, 1)), nn.MaxPool2d(3, 2))
        befores = (64, *WIDTHS[:-1])
        self.stages = nn.ModuleList(
            nn.Sequential(Block(before, width, 1 if width == WIDTHS[0] else 2), Block(width, width, 1))
            for before, width in zip(befores, WIDTHS, strict=True)
        )
        self.unify = nn.ModuleList(nn.Conv2d(width, OUT, 1, bias=False) for width in WIDTHS)
        self.smooth = nn.ModuleList(nn.Conv2d(OUT, QUARTER, 3, padding=1, bias=False) for _ in WIDTHS)
        self.probability, self.threshold = branch(), branch()

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.stem(images)
        features = [x := stage(x) for stage in self.stages]
        merged = self.unify[3](features[3])
        maps = [f.interpolate(self.smooth[3](merged), scale_factor=8.0)]
        for level in (2, 1, 0):
            merged = self.unify[level](features[level]) + f.interpolate(merged, scale_factor=2.0)
            maps.append(f.interpolate(self.smooth[level](merged), scale_factor=float(2**level)))
        joined = torch.cat(maps, 1)
        probability, threshold = self.probability(joined), self.threshold(joined)
        return probability, threshold, torch.sigmoid(K * probability - threshold)


def loss_of(maps: tuple[torch.Tensor, ...], truth: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """The sum of DBLoss: cross-entropy with three hard negatives for each pixel of text, L1 and dice."""
    probability, threshold, binary = (one.flatten(1) for one in maps)
    kernels, mask, thresholds, border = (one.flatten(1) for one in truth)
    positive, negative = kernels * mask, (1 - kernels) * mask
    wanted = torch.minimum(negative.sum(1), 3 * positive.sum(1)).floor().clamp(min=10)
    losses = f.binary_cross_entropy(probability, kernels, reduction="none")
    hard = losses * negative
    ordered = hard.detach().sort(1, descending=True)[0]
    cut = ordered.gather(1, wanted.long()[:, None] - 1)
    entropy = (losses * positive).sum() + (hard * (hard.detach() >= cut)).sum()
    entropy = entropy / (positive.sum() + wanted.sum() + EPS)
    l1 = ((threshold - thresholds).abs() * border).sum() / (border.sum() + EPS)
    dice = 1 - 2 * (binary * kernels * mask).sum() / ((binary * mask).sum() + positive.sum() + EPS)
    return dice + 10 * l1 + 5 * entropy


def main() -> None:
    """Arguments: batch size, side, steps, threads, layout. Prints seconds, peak memory and parameters as JSON."""
    batch, size, steps, threads = map(int, sys.argv[1:5])
    order = getattr(torch, sys.argv[5])
    torch.set_num_threads(threads)
    generator, square = np.random.default_rng(0), (batch, size, size)
    maps = [(generator.random(square) < share).astype(np.float32) for share in (0.1, 1.0, 0.0, 0.2)]
    maps[2] = generator.uniform(0.3, 0.7, square).astype(np.float32)
    images = torch.tensor(generator.standard_normal((batch, 3, size, size)).astype(np.float32))
    images = images.contiguous(memory_format=order)
    truth = tuple(map(torch.tensor, maps))
    network = DBNet().to(memory_format=order)
    optimizer = torch.optim.SGD(network.parameters(), 1e-3, momentum=0.9, weight_decay=1e-4)
    seconds = []
    for _ in range(steps + 1):
        began = time.perf_counter()
        loss = loss_of(network(images), truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    parameters = sum(p.numel() for p in network.parameters())
    print(json.dumps({"seconds": float(np.median(seconds[1:])), "peak": peak, "parameters": parameters}))


if __name__ == "__main__":
    main()
