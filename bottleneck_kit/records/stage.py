"""One stage of the user's pipeline: what it is, what it is like, what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.records.measurement import Missing


@dataclass(frozen=True)
class Traits:
    """What kind of function a stage runs. None means that it could not be told.

    Attributes:
        random: Draws random numbers that differ from pass to pass.
        stateful: Holds ops with state outside the allow-list (variables written, queues, ...);
            a random stage is stateful, too.
        python: Runs Python while training (py_function, numpy_function, from_generator).
        deterministic: Equal input gives equal output on every pass, as far as its graph and
            captures show: not random, not stateful, no mutable variable captured, no Python.
        changes_count: Gives more or fewer elements than it takes (filter, flat_map, batch, ...).
        reads_files: Reads files by name while training.
        keras_layers: Class names of the Keras preprocessing layers it calls.
        captures: What its function captures: ``name: dtype[shape]``, variables marked.
        ops: Number of ops in its traced function, nested functions included; 0 without one.
        op_types: The types of those ops, each once, sorted.
        frozen_randomness: Names of NumPy or Python random functions its code calls, which were
            drawn once at tracing time.
    """

    random: bool | None = None
    stateful: bool | None = None
    python: bool | None = None
    deterministic: bool | None = None
    changes_count: bool = False
    reads_files: bool | None = None
    keras_layers: tuple[str, ...] = ()
    captures: tuple[str, ...] = ()
    ops: int = 0
    op_types: tuple[str, ...] = ()
    frozen_randomness: tuple[str, ...] = ()


@dataclass(frozen=True)
class StageCost:
    """What a stage costs in steady state.

    Attributes:
        cost_s: Thread seconds per training step (batch), its inputs apart.
        per_element_s: Thread seconds for one of its own output elements.
        elements_per_step: How many of its output elements one step uses.
        bytes_per_element: Mean bytes of one of its output elements; 0 where not told.
        parallelism: Parallel calls in use; 1 for a serial stage.
        serial: Whether it works on one element at a time, by kind or by setting.
        nodes: Names of the live nodes this cost was read from.
        shared_with: Indices of the stages that were fused with this one, so that the cost is
            that of all together and is booked on this stage; empty otherwise.
        buffer_fill_share: Mean fill (0 to 1) of its output buffer; None where it has none.
        elements: How many elements the numbers rest on.
    """

    cost_s: float
    per_element_s: float
    elements_per_step: float
    bytes_per_element: float = 0.0
    parallelism: int = 1
    serial: bool = True
    nodes: tuple[str, ...] = ()
    shared_with: tuple[int, ...] = ()
    buffer_fill_share: float | None = None
    elements: int = 0


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline, in the order the data flows (0 is the source).

    Attributes:
        index: Its place in the whole list, branches included: unique, data order.
        kind: The public name of the transformation (``map``, ``batch``, ``shuffle``,
            ``interleave``, ``from_generator``, ``tfrecord``, ...); ``keras_arrays`` for Keras'
            array adapter; ``opaque`` where it cannot be read.
        name: The user's function (``dilate``), or the kind where there is none.
        file: Source file of that function; None where there is none.
        line: First line of that function, or of the class; None where there is none.
        options: Its settings as plain values: ``num_parallel_calls`` ("AUTOTUNE" or a number),
            ``batch_size``, ``buffer_size``, ``deterministic``, ``cycle_length``, ...
        element_spec: Printable spec of what it gives.
        element_bytes: Bytes of one output element where the spec is fully static; else None.
        input_bytes: Bytes of one input element where static; else None.
        traits: See Traits.
        branches: For zip, concatenate, interleave, sample_from_datasets and the like: the
            sub-lists that feed it, each in data order.
        cost: What it costs, or Missing with the reason.
        injected_by: "" for the user's own; "keras" for a stage that Keras added.
        note: What could not be read, in a clause; "" where all could.
        python_functions: The Python functions that its function calls while training
            (py_function, numpy_function), each as ``name (file:line)``.
    """

    index: int
    kind: str
    name: str
    file: str | None = None
    line: int | None = None
    options: dict[str, bool | int | float | str | None] = field(default_factory=dict)
    element_spec: str = ""
    element_bytes: int | None = None
    input_bytes: int | None = None
    traits: Traits = field(default_factory=Traits)
    branches: tuple[tuple[Stage, ...], ...] = ()
    cost: StageCost | Missing = field(default_factory=lambda: Missing("not measured"))
    injected_by: str = ""
    note: str = ""
    python_functions: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The stage as a report names it: ``map dilate`` or ``shuffle``."""
        return self.kind if self.name == self.kind else f"{self.kind} {self.name}"

    @property
    def place(self) -> str:
        """``file:line`` of the user's function, the file where the line is not known, or ""."""
        if self.file is None:
            return ""
        return self.file if self.line is None else f"{self.file}:{self.line}"
