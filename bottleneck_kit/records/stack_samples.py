"""Where the training thread was found whenever it was looked at."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CallbackSamples:
    """How often the training thread was found inside one callback.

    Attributes:
        name: Class name of the callback; for a LambdaCallback, with the function's place.
        hook: The hook it was found in, such as ``on_train_batch_end``.
        count: How often.
    """

    name: str
    hook: str
    count: int


@dataclass(frozen=True)
class StackSamples:
    """A statistical picture of the training thread from begin to end of fit.

    Attributes:
        interval_s: Time between two looks.
        total: Looks in all, between the first and the last execution of the fit.
        in_train_function: Found inside the train function.
        in_validation: Found inside ``evaluate``.
        callbacks: Found inside a callback of somebody else, by class and hook.
        other: Found anywhere else (Keras' own loop).
    """

    interval_s: float
    total: int
    in_train_function: int = 0
    in_validation: int = 0
    callbacks: tuple[CallbackSamples, ...] = field(default=())
    other: int = 0
