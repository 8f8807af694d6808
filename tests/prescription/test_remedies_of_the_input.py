from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from constructed import environment, job, stage
from prescribed_jobs import (
    DETERMINISTIC,
    RANDOM,
    article,
    ask,
    augment,
    batch,
    compute_bound,
    finding,
    mapped,
    prefetch,
    python_map,
    rescale,
    run,
    serial_map,
    source,
    why_not,
)

from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing

IDLE = {"cpu_step_s": 0.085, "cpu_held_s": 0.005}
"""One of two cores idle."""

BUSY = {"cpu_step_s": 0.160, "cpu_held_s": 0.010}
EMULATED = {"emulated_ms": 31.0, "cpu_held_s": 0.005}

DECODE = {"op_types": ("DecodeJpeg", "ResizeBilinear")}


def chain(*stages: Any, **fields: Any) -> Evidence:
    return run([source(0), *stages], **{**IDLE, **fields})


def serial(**fields: Any) -> Evidence:
    return chain(serial_map(1, "decode", 80.0), batch(2), prefetch(3), **fields)


def random_map(name: str = "flip", **fields: Any) -> Any:
    traits = {**RANDOM, "op_types": ("StatelessRandomUniformV2", *fields.pop("ops", ()))}
    return serial_map(1, name, 80.0, traits=traits, **fields)


def listed(*, memory: int = 2**33, cardinality: int = 1000, **fields: Any) -> Evidence:
    return chain(
        mapped(1, "decode", 80.0),
        stage(2, "shuffle", cost_ms=0.5, elements_per_step=128.0, traits=RANDOM),
        batch(3),
        prefetch(4),
        job=job(batch_size=128, cardinality=cardinality),
        environment=environment(memory_limit_bytes=memory),
        **fields,
    )


def slow_reads(**fields: Any) -> Evidence:
    reader = source(0, 70.0, parallelism=1, options={})
    return run([reader, mapped(1, "parse", 5.0), batch(2), prefetch(3)], **{**IDLE, **fields})


def tiny_maps() -> Evidence:
    """Two cheap maps over 5000 elements a step, on a saturated machine."""
    many = {"elements_per_step": 5000.0, "input_bytes": 128, "element_bytes": 128}
    return chain(
        mapped(1, "scale", 65.0, traits={"ops": 3}, **many),
        mapped(2, "shift", 65.0, traits={"ops": 3}, **many),
        batch(3),
        prefetch(4),
        **BUSY,
    )


def late_filter() -> Evidence:
    keep = stage(2, "filter", "keep", cost_ms=0.5, elements_per_step=64.0, traits=DETERMINISTIC)
    return chain(mapped(1, "decode", 80.0), keep, batch(3), prefetch(4), **BUSY)


def decoded_shuffle() -> Evidence:
    decode = mapped(1, "decode", 80.0, input_bytes=10_000, element_bytes=600_000)
    shuffle = stage(2, "shuffle", cost_ms=1.0, options={"buffer_size": 10_000}, traits=RANDOM)
    return chain(decode, shuffle, batch(3), prefetch(4), **BUSY)


def cache_behind_repeat() -> Evidence:
    repeat = stage(2, "repeat", cost_ms=0.1, elements_per_step=128.0, options={"count": -1})
    keep = stage(3, "cache", cost_ms=0.1, elements_per_step=128.0, traits=DETERMINISTIC)
    return chain(mapped(1, "decode", 80.0), repeat, keep, batch(4), prefetch(5), **BUSY)


def widened(gpus: int = 0) -> Evidence:
    """A cast to float in front of a shuffle and a batch that copy all day."""
    cast = mapped(1, "to_float", 2.0, element_bytes=12_304, traits={"op_types": ("Cast", "Mul")})
    shuffle = stage(2, "shuffle", cost_ms=40.0, elements_per_step=128.0, traits=RANDOM)
    return chain(cast, shuffle, batch(3, 40.0), prefetch(4), gpus=gpus)


ARTICLE: dict[str, Any] = {"gpus": 0}

# remedy, what it is asked about, evidence, findings, index of the stage it is for
APPLIES: list[tuple[str, str, Callable[[], Evidence], tuple[Any, ...], int | None]] = [
    ("tune", "a serial map beside an idle core", serial, (), 1),
    ("tune", "a serial random map", lambda: chain(random_map(), batch(2), prefetch(3)), (), 1),
    ("tune", "reads one file at a time", slow_reads, (), 0),
    (
        "tune",
        "no buffer at the end",
        lambda: chain(serial_map(1, "decode", 40.0), batch(2), prefetch_at_end=False),
        (finding("tune", code="INP114"),),
        1,
    ),
    ("vectorize", "tiny maps in front of the batch", tiny_maps, (), 1),
    ("vectorize", "the article's pipeline", run, (), 3),
    ("fuse", "tiny maps side by side", tiny_maps, (), 1),
    (
        "split",
        "a map that decodes and draws",
        lambda: chain(random_map(ops=("DecodeJpeg",)), batch(2), prefetch(3)),
        (),
        1,
    ),
    ("late_cast", "a cast in front of copies", widened, (), 1),
    ("late_cast", "a cast in front of a GPU", lambda: run(gpus=1), (), 7),
    ("reorder", "a filter behind the work", late_filter, (), 2),
    ("reorder", "a shuffle of decoded images", decoded_shuffle, (), 2),
    ("reorder", "a cache behind repeat", cache_behind_repeat, (), 3),
    ("cache", "a deterministic front that fits", listed, (), 1),
    ("cache", "the article's pipeline", run, (), 5),
    ("bake", "the article's pipeline", run, (), 4),
    (
        "processes",
        "a numpy_function beside an idle core",
        lambda: chain(python_map(1, "load", 80.0), batch(2), prefetch(3)),
        (),
        1,
    ),
    (
        "processes",
        "a Python generator",
        lambda: run(
            [
                stage(0, "from_generator", "rows", cost_ms=80.0, python=True),
                batch(1),
                prefetch(2),
            ],
            **IDLE,
        ),
        (),
        0,
    ),
    ("head", "the article's pipeline with a GPU", lambda: run(gpus=1), (), 7),
    ("device", "the article's pipeline with a GPU", lambda: run(gpus=1), (), 4),
    ("dali", "the article's pipeline with a GPU", lambda: run(gpus=1), (), 3),
    ("service", "the article's pipeline", run, (), 6),
    ("machine", "the article's pipeline", run, (), None),
]

DOES_NOT: list[tuple[str, str, Callable[[], Evidence], str]] = [
    (
        "tune",
        "Python, which one lock serialises",
        lambda: chain(python_map(1, "load", 80.0), batch(2), prefetch(3)),
        "one lock",
    ),
    ("tune", "stages that are parallel already", run, "already"),
    (
        "vectorize",
        "a map that decodes one string",
        lambda: chain(mapped(1, "decode", 80.0, traits=DECODE), batch(2), prefetch(3)),
        "one element only",
    ),
    (
        "vectorize",
        "a random map",
        lambda: chain(random_map(), batch(2), prefetch(3)),
        "one draw would serve a whole batch",
    ),
    (
        "vectorize",
        "a map behind the batch",
        lambda: chain(batch(1), rescale(2), prefetch(3)),
        "behind it all runs a batch",
    ),
    ("vectorize", "no batch", lambda: chain(mapped(1, "decode", 80.0)), "no batch"),
    ("fuse", "a single map", serial, "no two maps"),
    ("split", "a map without draws", serial, "no map does fixed work"),
    ("late_cast", "maps that keep the size", serial, "wider"),
    ("reorder", "a pipeline in order", run, "an order that costs nothing"),
    (
        "cache",
        "Python in front",
        lambda: run([stage(0, "from_generator", "rows", cost_ms=80.0, python=True), batch(1)]),
        "behind it a cache freezes draws",
    ),
    ("cache", "more data than memory", lambda: listed(memory=2**20), "does not fit"),
    (
        "bake",
        "a random stage in front",
        lambda: chain(random_map(), serial_map(2, "fixed", 5.0), batch(3)),
        "must not be baked",
    ),
    ("processes", "no Python", run, "no stage is known to run Python"),
    ("head", "no layers at the end", serial, "does not end in Keras layers"),
    ("device", "no GPU", run, "no GPU"),
    ("device", "an emulated accelerator", lambda: run(**EMULATED), "no GPU"),
    ("dali", "no GPU", run, "none on this machine"),
    ("dali", "an emulated accelerator", lambda: run(**EMULATED), "none on this machine"),
    (
        "service",
        "Python in front of the batch",
        lambda: chain(python_map(1, "load", 80.0), batch(2), prefetch(3)),
        "cannot move",
    ),
    ("machine", "cores enough", lambda: run(cpu_step_s=0.045), "enough"),
    ("machine", "idle cores", lambda: run(cpu_step_s=0.040, held_call_s=0.015), "would idle"),
    ("machine", "no CPU time", lambda: run(cpu_step_s=Missing("no clock")), "no clock"),
]


@pytest.mark.parametrize(
    ("name", "evidence", "findings", "place"),
    [pytest.param(n, e, f, p, id=f"{n}: {about}") for n, about, e, f, p in APPLIES],
)
def test_it_is_given_where_it_helps(
    name: str, evidence: Callable[[], Evidence], findings: tuple[Any, ...], place: int | None
) -> None:
    prescriptions = ask(name, evidence(), *findings)
    assert place in [one.stage for one in prescriptions]


@pytest.mark.parametrize(
    ("name", "evidence", "reason"),
    [pytest.param(n, e, r, id=f"{n}: {about}") for n, about, e, r in DOES_NOT],
)
def test_it_is_not_given_where_it_cannot_help_and_says_why(
    name: str, evidence: Callable[[], Evidence], reason: str
) -> None:
    wanted = finding(name)
    assert ask(name, evidence(), wanted) == []
    assert reason in why_not(name, evidence(), wanted)


INPUT_REMEDIES = sorted({name for name, *_ in APPLIES})


@pytest.mark.parametrize("name", INPUT_REMEDIES)
@pytest.mark.parametrize("gpus", [0, 1])
def test_a_job_that_does_not_wait_gets_no_remedy_of_the_input(name: str, gpus: int) -> None:
    assert ask(name, compute_bound(gpus=gpus)) == []


@pytest.mark.parametrize("name", INPUT_REMEDIES)
def test_without_a_wait_nothing_is_given_unasked(name: str) -> None:
    assert ask(name, run(wait_s=Missing("no probe"), gpus=1)) == []


@pytest.mark.parametrize("name", INPUT_REMEDIES)
def test_without_a_pipeline_it_does_not_apply_but_for_the_machine(name: str) -> None:
    given = ask(name, run(stages=(), has_pipeline=Missing("opaque"), gpus=1), finding(name))
    assert [one.name for one in given] == (["machine"] if name == "machine" else [])


@pytest.mark.parametrize("name", ["bake", "cache", "fuse", "service", "vectorize"])
def test_without_costs_a_finding_still_gets_the_advice_or_a_reason(name: str) -> None:
    stages = [source(0, None), mapped(1, "a", None), mapped(2, "b", None), batch(3, None)]
    given = ask(name, run(stages), finding(name))
    for one in given:
        assert isinstance(one.predicted_step_s, Missing)
        assert one.low_s == one.high_s == one.predicted_step_s
    assert given or why_not(name, run(stages), finding(name))


def test_a_random_map_made_parallel_is_said_to_redraw() -> None:
    (one,) = ask("tune", chain(random_map(), batch(2), prefetch(3)))
    assert one.safety == "redraws"
    assert "no longer reproducible" in one.text


def test_a_prefetch_that_is_there_already_is_predicted_to_bring_nothing() -> None:
    (one,) = ask("tune", run(), finding("tune", code="INP114"))
    assert one.predicted_step_s == 0.083
    assert "by default" in one.text


def test_tuning_saturated_cores_is_predicted_to_bring_next_to_nothing() -> None:
    evidence = chain(
        serial_map(1, "decode", 60.0), mapped(2, "warp", 90.0), batch(3), prefetch(4), **BUSY
    )
    (one,) = ask("tune", evidence, finding("tune", stage=1))
    assert not isinstance(one.predicted_step_s, Missing)
    assert one.predicted_step_s > 0.98 * 0.083


def test_several_serial_stages_are_tuned_together() -> None:
    evidence = chain(
        serial_map(1, "decode", 40.0), serial_map(2, "crop", 40.0), batch(3), prefetch(4)
    )
    (one,) = ask("tune", evidence)
    assert "decode" in one.snippet
    assert "crop" in one.snippet


def test_autotune_that_is_off_is_switched_on() -> None:
    (one,) = ask("tune", serial(pipeline_options={"autotune.enabled": False}))
    assert "options.autotune.enabled = True" in one.snippet


def test_processes_on_saturated_cores_bring_nothing() -> None:
    evidence = chain(python_map(1, "load", 80.0), batch(2), prefetch(3), **BUSY)
    assert ask("processes", evidence) == []
    (one,) = ask("processes", evidence, finding("processes", stage=1))
    assert not isinstance(one.predicted_step_s, Missing)
    assert one.predicted_step_s > 0.98 * 0.083
    assert "With 2 cores it brings little." in one.text


def test_processes_count_what_handing_over_small_elements_costs() -> None:
    small = python_map(1, "load", 7.0)
    behind_it = [serial_map(2, "crop", 0.1), batch(3), prefetch(4)]
    fields = {"step_s": 0.0075, "wait_s": 0.007, "cpu_step_s": 0.008, "cpu_held_s": 0.0005}
    asked = finding("processes", stage=1)
    (by_one,) = ask("processes", run([source(0, 0.1), small, *behind_it], **fields), asked)
    (by_batch,) = ask("processes", run([source(0, 0.1), small, batch(2)], **fields), asked)
    assert not isinstance(by_one.predicted_step_s, Missing)
    assert not isinstance(by_batch.predicted_step_s, Missing)
    assert by_batch.predicted_step_s < 0.0075 < by_one.predicted_step_s
    assert "handing over one element at a time costs as much" in by_one.text


def test_others_who_keep_a_core_busy_are_named() -> None:
    evidence = serial(other_cores=1.0)
    (one,) = ask("tune", evidence, finding("tune", stage=1))
    assert "2 cores (1.0 of them kept busy by other processes)" in one.text


def test_a_source_in_memory_is_not_cached() -> None:
    stages = [stage(0, "range", cost_ms=5.0, traits=DETERMINISTIC), augment(1), batch(2)]
    assert ask("cache", run(stages), finding("cache")) == []
    assert "in memory already" in why_not("cache", run(stages), finding("cache"))


def test_a_head_on_the_cpu_is_predicted_to_bring_nothing_and_says_so() -> None:
    assert ask("head", run()) == []
    (one,) = ask("head", run(), finding("head", stage=8))
    assert one.predicted_step_s == 0.083
    assert "brings nothing" in one.text


def test_a_head_on_an_emulated_accelerator_keeps_its_work_on_the_host() -> None:
    real = ask("head", run(gpus=1, cpu_held_s=0.005))[0]
    emulated = ask("head", run(**EMULATED), finding("head"))[0]
    assert not isinstance(real.predicted_step_s, Missing)
    assert not isinstance(emulated.predicted_step_s, Missing)
    assert emulated.predicted_step_s > real.predicted_step_s
    assert "emulated" in emulated.text


def test_an_emulated_head_gains_where_the_pipeline_is_held_up_by_one_thread() -> None:
    stages = [source(0), batch(1), augment(2, 75.0, parallelism=1, options={}), prefetch(3)]
    evidence = run(stages, emulated_ms=31.0, cpu_step_s=0.080, cpu_held_s=0.002)
    (one,) = ask("head", evidence)
    assert not isinstance(one.predicted_step_s, Missing)
    assert one.predicted_step_s < 0.080


def test_layers_that_xla_refuses_are_named_at_the_head() -> None:
    (one,) = ask("head", run(gpus=1))
    assert "RandomRotation and RandomZoom do not compile under XLA" in one.text
    assert "jit_compile=False" in one.snippet


def test_random_draws_at_the_head_are_said_to_redraw() -> None:
    assert ask("head", run(gpus=1))[0].safety == "redraws"


def test_nothing_behind_a_random_stage_is_baked_or_cached() -> None:
    stages = [
        source(0),
        mapped(1, "fixed", 30.0),
        serial_map(2, "flip", 10.0, traits=RANDOM),
        mapped(3, "late", 30.0),
        batch(4),
    ]
    evidence = run(stages, **BUSY)
    for name in ("bake", "cache"):
        (one,) = ask(name, evidence)
        assert one.stage == 1
        assert "late" not in one.snippet
        assert "flip" not in one.snippet


def test_a_stage_of_unknown_determinism_is_neither_baked_nor_cached() -> None:
    unknown = mapped(1, "decode", 80.0, traits={"deterministic": None})
    evidence = chain(unknown, batch(2), prefetch(3), **BUSY)
    assert ask("bake", evidence) == []
    assert all(one.stage == 0 for one in ask("cache", evidence, finding("cache")))


def test_a_cache_names_the_memory_it_needs() -> None:
    (one,) = ask("cache", listed())
    assert one.cost == "memory: 375 MiB"
    assert one.safety == "exact"


def test_a_cache_moves_a_repeat_behind_itself() -> None:
    (one,) = ask("cache", run())
    assert one.snippet.endswith("dataset = dataset.cache()\ndataset = dataset.repeat()")
    assert "repeat has to move" in one.text


def test_the_service_is_cut_behind_the_batch_and_sizes_its_workers() -> None:
    (one,) = ask("service", run())
    assert "Everything up to batch" in one.text
    assert "1 worker of 8 cores" in one.text
    assert one.safety == "reorders"


def test_draws_on_workers_are_said_to_redraw() -> None:
    (one,) = ask("service", chain(random_map(), batch(2), prefetch(3)))
    assert one.safety == "redraws"


def test_a_service_is_no_faster_than_batches_arrive() -> None:
    stages = [source(0), mapped(1, "decode", 80.0), batch(2, element_bytes=20_000_000), prefetch(3)]
    (one,) = ask("service", run(stages, **BUSY), finding("service"))
    assert not isinstance(one.predicted_step_s, Missing)
    assert one.predicted_step_s == pytest.approx(0.041)


def test_the_machine_counts_the_cores_that_would_feed_the_accelerator() -> None:
    (one,) = ask("machine", run(gpus=1))
    assert "110 ms of CPU, an ideal step 31.5 ms: 4 cores" in one.text


def test_a_quota_is_named_before_a_new_machine() -> None:
    limited = environment(cores=2.0, cores_limited_by="cgroup quota")
    limited = type(limited)(**{**vars(limited), "cores": 16})
    (one,) = ask("machine", run(environment=limited))
    assert "lift that first" in one.text
    assert "cgroup quota" in one.snippet


def test_a_stage_with_random_state_is_not_put_on_the_device() -> None:
    assert {one.stage for one in ask("device", run(gpus=1))} == {4, 5}


def test_dali_names_what_stays_behind() -> None:
    (one,) = ask("dali", run(gpus=1))
    assert "augment has none that is known and stays behind" in one.text
    assert "fn.experimental.dilate" in one.snippet


def test_a_stage_of_keras_itself_is_never_the_users_to_change() -> None:
    stages = [
        stage(0, "keras_arrays", cost_ms=40.0, injected_by="keras", traits=DETERMINISTIC),
        serial_map(1, "class_weights", 30.0, injected_by="keras"),
        serial_map(2, "shuffled", 10.0, injected_by="keras"),
    ]
    evidence = run(stages, **IDLE)
    for name in ("bake", "cache", "fuse", "head", "service", "tune", "vectorize"):
        assert ask(name, evidence, finding(name)) == [], name


def test_the_articles_pipeline_has_eight_stages_between_files_and_step() -> None:
    assert [one.name for one in article()][2:] == [
        "repeat",
        "parse",
        "dilate",
        "blur",
        "batch",
        "rescale",
        "augment",
        "prefetch",
    ]


def test_a_whole_epoch_tells_how_much_there_is_where_the_data_set_does_not() -> None:
    (told,) = ask("cache", listed(cardinality=-2, pass_steps=1000))
    (known,) = ask("cache", listed(cardinality=1000))
    assert told.cost == known.cost
    assert ask("cache", listed(cardinality=-2, pass_steps=1000, memory=2**20)) == []
    (open_end,) = ask("cache", listed(cardinality=-2, pass_steps=Missing("no epoch ended")))
    assert open_end.cost.endswith("how many there are is not known")


def test_a_whole_epoch_counts_batches_where_the_batch_has_no_cost_of_its_own() -> None:
    evidence = chain(
        mapped(1, "decode", 80.0),
        batch(2, None),
        job=job(batch_size=128, cardinality=-2),
        environment=environment(memory_limit_bytes=2**33),
        pass_steps=10,
    )
    (one,) = ask("cache", evidence)
    assert one.stage == 2
    assert one.cost == "memory: 3.75 MiB"
