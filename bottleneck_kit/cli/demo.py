"""Trains the article's job on real photographs and says what holds it back.

An image classifier whose input pipeline keeps it waiting: parse, dilate, blur, batch, rescale,
flip, rotate, zoom, prefetch. The report is what BottleneckCallback prints in your own training.
Needs TensorFlow; without --data, scikit-image for the photographs.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the demo offers."""
    # Loaded here, so that importing the command line stays quick.
    from bottleneck_kit.demo import command

    command.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Trains and reports."""
    from bottleneck_kit.demo import command

    return command.run(arguments)
