"""The machine and the software a record comes from."""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.records.measurement import Missing


@dataclass(frozen=True)
class Gpu:
    """One accelerator that TensorFlow sees.

    Attributes:
        name: Its device name, such as ``/physical_device:GPU:0``.
        model: The maker's name for it, or Missing.
    """

    name: str
    model: str | Missing


@dataclass(frozen=True)
class Environment:
    """The machine and the software of one run.

    Attributes:
        python: Version of Python.
        tensorflow: Version of TensorFlow.
        keras: Version of Keras.
        kit: Version of this kit.
        platform: Operating system and architecture.
        cpu_model: Name of the processor.
        cores: Logical cores of the machine.
        usable_cores: Cores this process may really use: the least of logical cores, scheduler
            affinity and cgroup quota. May be a fraction, for a quota of e.g. 1.5 cores.
        cores_limited_by: "affinity", "cgroup quota" or "" where nothing limits them.
        memory_limit_bytes: Least of physical memory and cgroup limit.
        cpu_extensions: Vector extensions the processor has (``avx2``, ``avx512f``, ...).
        onednn: Whether TensorFlow's oneDNN kernels are on.
        inter_op_threads: TensorFlow's setting; 0 means that TensorFlow chooses.
        intra_op_threads: TensorFlow's setting; 0 means that TensorFlow chooses.
        gpus: The GPUs that TensorFlow sees.
        optional_parts: Version of each optional part (``xprof``, ``nvidia-dali``, ...), or
            Missing with the command that installs it.
    """

    python: str
    tensorflow: str | Missing
    keras: str | Missing
    kit: str
    platform: str
    cpu_model: str | Missing
    cores: int
    usable_cores: float
    cores_limited_by: str = ""
    memory_limit_bytes: int | Missing = field(default_factory=lambda: Missing("not read"))
    cpu_extensions: tuple[str, ...] | Missing = field(default_factory=lambda: Missing("not read"))
    onednn: bool | Missing = field(default_factory=lambda: Missing("not read"))
    inter_op_threads: int = 0
    intra_op_threads: int = 0
    gpus: tuple[Gpu, ...] = ()
    optional_parts: dict[str, str | Missing] = field(default_factory=dict)
