"""From a configuration to the network that is trained, and to the step that trains it."""

from __future__ import annotations

import os
import sys

from mindspore import nn

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.adapt import batch_norm, freeze, instruction_set, matrix_convolution, precision, pretrained
from hccl_kit.ocr.adapt.precision import Scaling
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark, fetch
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.task import Task, Warn
from hccl_kit.ocr.train import optimizer, parallel, parameters, schedule
from hccl_kit.ocr.train.ema import Ema
from hccl_kit.ocr.train.step import TrainStep
from hccl_kit.runtime import World


def network_to_train(config: Config, world: World, say: Warn) -> nn.Cell:
    """The network with its first weights, equal on all ranks; what is frozen, cast and synchronised is set up."""
    model, system = config["model"], config["system"]
    network = recipes.network(config)
    for key, name in fetch.wanted(model).items():
        path = fetch.local_path(key, name, os.environ)
        for note in pretrained.load(path, network, strict=model["pretrained_strict"], key=key):
            say(note)
    if model["freeze"]:
        say(f"model.freeze: {freeze.freeze(network, model['freeze'])} parameters stay as they are")
    if model["freeze_batch_norm"]:
        batch_norm.freeze_batch_norm(network)
    notes = [
        precision.mix(network, system["amp_level"], world.device_target),
        batch_norm.synchronise(network, world.device_target, world.size) if system["sync_bn"] else None,
    ]
    for note in filter(None, notes):
        say(note)
    if world.device_target == "CPU" and instruction_set.wide(os.environ):
        left = matrix_convolution.unfold(network)
        if left:
            say(
                f"{left} convolutions cannot be products of matrices, and are many times slower with AVX-512: "
                f"{instruction_set.VARIABLE}=AVX2 spares you that"
            )
    parameters.broadcast(network.get_parameters(), world)
    return network


def trained_network(config: Config) -> nn.Cell:
    """The network with `config.weights`; KitError where they are not there or do not fit."""
    path, network = config.weights, recipes.network(config)
    dictionary_mark.assert_same(path, checkpoint.read(path, say=_warn), recipes.task(config).dictionary)
    checkpoint.load(path, network.get_parameters())
    return network


def _warn(message: str) -> None:
    sys.stderr.write(f"warning: {message}\n")


def train_step(config: Config, network: nn.Cell, task: Task, world: World) -> TrainStep:
    """The step that the sections `optimizer`, `loss_scaler`, `parallel` and `train` describe."""
    train, system = config["train"], config["system"]
    strategy = parallel.choose(config["parallel"]["strategy"], world)
    return TrainStep(
        network,
        task.loss(),
        optimizer.build(config["optimizer"], network),
        size=world.size,
        clip_norm=train["clip_norm"] if train["clip_grad"] else None,
        accumulate=train["gradient_accumulation_steps"],
        scaling=Scaling.of(config["loss_scaler"], drop_overflow_update=system["drop_overflow_update"]),
        ema=Ema(network, train["ema_decay"]) if train["ema"] else None,
        all_reduce=parallel.all_reduce(strategy) if world.size > 1 else None,
    )


def batch_of_a_rank(config: Config, world: World) -> int:
    """The samples of one rank in one step, those of accumulated batches included.

    KitError where `train.batch_size_is: global` does not give every rank as many.
    """
    train = config["train"]
    size, parts = train["loader"]["batch_size"], train["gradient_accumulation_steps"]
    if train["batch_size_is"] == "global":
        if size % world.size:
            raise KitError(
                f"train.loader.batch_size {size} is that of all ranks (train.batch_size_is: global), and {world.size} "
                "ranks cannot share it equally",
                hint=f"set it to {size // world.size * world.size or world.size}",
            )
        size //= world.size
    samples: int = size * parts
    return samples


def warn_about_schedule(config: Config, steps_per_epoch: int, warn: Warn) -> None:
    """What the learning rate of this run makes a person doubt, before it begins."""
    for doubt in schedule.doubts(config["scheduler"], steps_per_epoch):
        warn(doubt)
