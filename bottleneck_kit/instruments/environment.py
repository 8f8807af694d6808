"""Reads the machine and the software a run takes place on into an Environment record."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

import psutil
import tensorflow as tf

from bottleneck_kit.instruments import cgroup
from bottleneck_kit.records.environment import Environment, Gpu
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.version import __version__

# What later work of a user may need, with the command that installs it.
OPTIONAL_PARTS = {
    "tensorboard": "pip install tensorboard",
    "tensorboard-plugin-profile": "pip install tensorboard-plugin-profile",
    "nvidia-dali-cuda120": "pip install nvidia-dali-cuda120",
    "nvidia-dali-tf-plugin-cuda120": (
        "pip install --no-build-isolation nvidia-dali-tf-plugin-cuda120"
    ),
}

# Extensions that TensorFlow's kernels make use of; the rest of a processor's flags is noise.
_EXTENSIONS = (
    "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile",
    "asimd", "sve",
)  # fmt: skip


def read_environment(root: Path = Path("/")) -> Environment:
    """Reads the environment of this process.

    Args:
        root: Where ``proc`` and ``sys`` are; replaced by tests.
    """
    cores = psutil.cpu_count(logical=True) or 1
    usable_cores, limited_by = usable_cpu_cores(root)
    model, extensions = _processor(root)
    threading = tf.config.threading
    return Environment(
        python=platform.python_version(),
        tensorflow=tf.__version__,
        keras=_version("keras"),
        kit=__version__,
        platform=f"{platform.system()} {platform.machine()}",
        cpu_model=model,
        cores=cores,
        usable_cores=usable_cores,
        cores_limited_by=limited_by,
        memory_limit_bytes=memory_limit_bytes(root),
        cpu_extensions=extensions,
        onednn=_onednn(),
        inter_op_threads=threading.get_inter_op_parallelism_threads(),
        intra_op_threads=threading.get_intra_op_parallelism_threads(),
        gpus=_gpus(),
        optional_parts={
            name: _version(name, f"not installed: {command}")
            for name, command in OPTIONAL_PARTS.items()
        },
    )


def bare_environment() -> Environment:
    """Gives what is known without asking anybody: for when reading the rest has failed."""
    reason = "the environment could not be read"
    cores = os.cpu_count() or 1
    return Environment(
        python=platform.python_version(),
        tensorflow=Missing(reason),
        keras=Missing(reason),
        kit=__version__,
        platform=platform.system(),
        cpu_model=Missing(reason),
        cores=cores,
        usable_cores=float(cores),
    )


def usable_cpu_cores(root: Path = Path("/")) -> tuple[float, str]:
    """Gives the cores this process may use, and what limits them ("" where nothing does)."""
    cores = float(psutil.cpu_count(logical=True) or 1)
    limits = {"": cores}
    if hasattr(os, "sched_getaffinity"):
        limits["affinity"] = float(len(os.sched_getaffinity(0)))
    quota = cgroup.cpu_quota_cores(root)
    if quota is not None:
        limits["cgroup quota"] = quota
    # "" stands first, so that a limit that takes nothing away is not named.
    limited_by = min(limits, key=lambda name: limits[name])
    return limits[limited_by], limited_by


def memory_limit_bytes(root: Path = Path("/")) -> int:
    """Gives the memory this process may use: physical memory or its cgroup's limit, in bytes."""
    total = psutil.virtual_memory().total
    limit = cgroup.memory_limit_bytes(root)
    return total if limit is None else min(total, limit)


def _processor(root: Path) -> tuple[str | Missing, tuple[str, ...] | Missing]:
    try:
        text = (root / "proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        reason = "the processor's description cannot be read on this system"
        return Missing(reason), Missing(reason)
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip().lower(), value.strip())
    flags = set(fields.get("flags", fields.get("features", "")).split())
    model = fields.get("model name") or platform.processor()
    return (
        model or Missing("the system does not name the processor"),
        tuple(name for name in _EXTENSIONS if name in flags),
    )


def _onednn() -> bool | Missing:
    """Says whether oneDNN kernels are on: TensorFlow's default on x86 Linux since 2.9."""
    setting = os.environ.get("TF_ENABLE_ONEDNN_OPTS")
    if setting is not None:
        return setting not in ("0", "false", "False")
    if platform.machine() in ("x86_64", "AMD64"):
        return True
    return Missing("TensorFlow's default for this processor is not known")


def _gpus() -> tuple[Gpu, ...]:
    gpus = []
    for device in tf.config.list_physical_devices("GPU"):
        model = tf.config.experimental.get_device_details(device).get("device_name")
        gpus.append(Gpu(device.name, model or Missing("TensorFlow does not name it")))
    return tuple(gpus)


def _version(distribution: str, reason: str = "not installed") -> str | Missing:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return Missing(reason)
