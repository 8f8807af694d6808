"""What was trained, and how ``fit`` was called."""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.records.measurement import Missing


@dataclass(frozen=True)
class Job:
    """The training job of one ``fit``.

    Attributes:
        model: Name of the model.
        parameters: Number of weights (scalars), or Missing where the model is not built.
        epochs: Epochs asked for.
        steps_per_epoch: Batches an epoch, where Keras knows it; else None.
        steps_per_execution: Batches one call of the train function works through.
        batch_size: Elements a batch (first dimension of the held batch), or Missing.
        jit_compile: Whether the train step is compiled by XLA.
        run_eagerly: Whether the train step runs as Python.
        replicas: Replicas of the distribution strategy; 1 without one.
        strategy: Class name of the distribution strategy; "" without one.
        input_kind: "dataset", "arrays" (NumPy and the like, through Keras' array adapter),
            "generator" (a Python generator through Keras' adapter), "py_dataset" (a
            keras.utils.PyDataset), "distributed" or "unknown".
        cardinality: Elements of the dataset (batches); -1 infinite, -2 unknown, or Missing.
        element_spec: The batch as a printable spec: structure, shapes and dtypes.
        batch_bytes: Bytes of one batch, or Missing.
        dynamic_shapes: Whether the element spec leaves a dimension other than the first open.
        string_input: Whether strings reach the model.
    """

    model: str
    parameters: int | Missing
    epochs: int
    steps_per_epoch: int | None
    steps_per_execution: int
    batch_size: int | Missing
    jit_compile: bool
    run_eagerly: bool
    replicas: int = 1
    strategy: str = ""
    input_kind: str = "unknown"
    cardinality: int | Missing = field(default_factory=lambda: Missing("not read"))
    element_spec: str = ""
    batch_bytes: int | Missing = field(default_factory=lambda: Missing("not read"))
    dynamic_shapes: bool = False
    string_input: bool = False
