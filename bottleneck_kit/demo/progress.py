"""Progress bars of the demo, shown only for what takes over two seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from rich.console import Console
from rich.progress import Progress as Bar

SHOWN_AFTER_S = 2.0


class Progress(Protocol):
    """Goes through numbers and shows how far it is."""

    def __call__(self, numbers: Sequence[int], description: str) -> Iterator[int]:
        """Gives the numbers one by one."""


def no_progress(numbers: Sequence[int], description: str) -> Iterator[int]:
    """Goes through the numbers and shows nothing."""
    return iter(numbers)


def late_bar(numbers: Sequence[int], description: str) -> Iterator[int]:
    """Goes through the numbers and shows a bar on stderr once two seconds have passed."""
    begin = time.perf_counter()
    with Bar(console=Console(stderr=True), transient=True, disable=True) as bar:
        task = bar.add_task(description, total=len(numbers))
        for done, number in enumerate(numbers):
            if bar.disable and time.perf_counter() - begin > SHOWN_AFTER_S:
                bar.disable = False
                bar.start()
            bar.update(task, completed=done)
            yield number
