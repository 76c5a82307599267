"""From a configuration to the network, the training step and the batch size of a rank."""

from __future__ import annotations

import os
from collections.abc import Callable

import mindspore as ms
from mindspore import Tensor, nn

from hccl_kit.base import progress
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.ocr import on_cpu, rapidocr
from hccl_kit.ocr.adapt import freeze, precision, pretrained
from hccl_kit.ocr.adapt.precision import Scaling
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark, fetch
from hccl_kit.ocr.checkpoints.weights_file import WeightsFile
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.models.ppocr import forms
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.task import Task, Warn
from hccl_kit.ocr.train import optimizer, parameters
from hccl_kit.ocr.train.join import join_for
from hccl_kit.ocr.train.step import TrainStep
from hccl_kit.ocr.train.weights_in_use import Ema, StartShare
from hccl_kit.runtime.join import World


def network_to_train(config: Config, world: World, say: Warn) -> nn.Cell:
    """The network with its initial weights, equal on all ranks; frozen, cast and synchronised as configured."""
    model, system = config["model"], config["system"]
    network = recipes.network(config)
    task = recipes.task(config)
    for key, name in fetch.wanted(model).items():
        path = fetch.local_path(key, name, os.environ)
        whole = key == "model.pretrained"
        classes, characters = (task.classes, task.characters) if whole else ((), "")
        strict = model["pretrained_strict"]
        for note in pretrained.load(path, network, strict=strict, key=key, classes=classes, characters=characters):
            say(note)
        say(str(WeightsFile.of(path)))
    if model["freeze"]:
        say(f"model.freeze: {freeze.freeze(network, model['freeze'])} parameters are frozen")
    if model["freeze_batch_norm"]:
        freeze.freeze_batch_norm(network)
    notes = [
        precision.mix(network, system["amp_level"], world.device_target),
        freeze.synchronise(network, world.device_target, world.size) if system["sync_bn"] else None,
    ]
    for note in filter(None, notes):
        say(note)
    if world.device_target == "CPU":
        on_cpu.adapt(network, system)
    parameters.broadcast(network.get_parameters(), world)
    return network


def trained_network(config: Config) -> nn.Cell:
    """The network with `config.weights`. Raises KitError if they are missing or do not fit."""
    path, task = config.weights, recipes.task(config)
    if str(path) in rapidocr.FILES or path.suffix in pretrained.FOREIGN:
        network = recipes.network_in_use(config)
        file = fetch.local_path(pretrained.IN_USE, str(path), os.environ)
        pretrained.load(file, network, strict=True, key=pretrained.IN_USE, classes=task.classes)
        return network
    network = recipes.network(config)
    rows = checkpoint.read(path, say=lambda note: progress.say(f"warning: {note}"))
    if not dictionary_mark.differs(rows, task.dictionary):
        checkpoint.load(path, network.get_parameters())
        return network
    if not task.characters:
        raise dictionary_mark.other(path)
    for note in pretrained.load(path, network, strict=True, key=pretrained.IN_USE, characters=task.characters):
        progress.say(f"warning: {note}")
    return network


def network_to_export(config: Config) -> nn.Cell:
    """The trained network; one with branches (`model.backbone.branches`) folded, which gives the same outputs."""
    network = trained_network(config)
    model = config["model"]
    if not model["backbone"].get("branches"):
        return network
    values = {parameter.name: parameter.asnumpy() for parameter in network.get_parameters()}
    plain = {**model, "backbone": {**model["backbone"], "branches": False}}
    if "bias" in model["head"]:  # a folded normalisation becomes a bias
        plain["head"] = {**model["head"], "bias": True}
    folded = recipes.network(Config({**config.values, "model": plain}, config.source))
    values = forms.folded(values)
    for parameter in folded.get_parameters():
        parameter.set_data(Tensor(values[parameter.name]))
    return folded


def network_to_use(config: Config) -> nn.Cell:
    """The network of `network_to_export`, on CPU in the form that is fast there: the same outputs in less time."""
    network = network_to_export(config)
    if ms.get_context("device_target") == "CPU":
        on_cpu.adapt(network, config["system"], frozen=True)
    return network


def train_step(config: Config, network: nn.Cell, task: Task, world: World, say: Callable[[str], None]) -> TrainStep:
    """The training step of the sections `optimizer`, `loss_scaler`, `parallel` and `train`."""
    train, system = config["train"], config["system"]
    return TrainStep(
        network,
        task.loss(),
        optimizer.build(config["optimizer"], network),
        clip_norm=train["clip_norm"] if train["clip_grad"] else None,
        accumulate=train["gradient_accumulation_steps"],
        scaling=Scaling.of(config["loss_scaler"], drop_overflow_update=system["drop_overflow_update"]),
        ema=Ema(network, train["ema_decay"]) if train["ema"] else None,
        start_share=StartShare(network, train["start_share"]) if train["start_share"] else None,
        join=join_for(config["parallel"]["strategy"], network, world, say),
    )


def batch_of_a_rank(config: Config, world: World) -> int:
    """The samples of one rank in one step, accumulated batches included.

    Raises KitError if `train.batch_size_is: global` cannot be divided equally among the ranks.
    """
    train = config["train"]
    size, parts = train["loader"]["batch_size"], train["gradient_accumulation_steps"]
    if train["batch_size_is"] == "global":
        if size % world.size:
            raise KitError(
                "ocr.build.train-loader-batch",
                "train.loader.batch_size {size} is that of all ranks (train.batch_size_is: global) and "
                "does not divide by {size_2} ranks",
                hint=Message(
                    "ocr.build.train-loader-batch.fix",
                    "set it to {size}",
                    size=size // world.size * world.size or world.size,
                ),
                size=size,
                size_2=world.size,
            )
        size //= world.size
    samples: int = size * parts
    return samples
