"""Lines break at good places, and signs have plain stand-ins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bottleneck_kit.report.plain_text import to_encoding, wrap

words = st.lists(st.text("abc%·0123456789µms", min_size=1, max_size=9), max_size=20).map(" ".join)


@pytest.mark.parametrize("unit", ["%", "µs", "ms", "s", "min", "h", "B", "KiB", "TiB"])
def test_a_number_stays_with_its_unit(unit: str) -> None:
    text = f"it takes 83.0 {unit} a step"

    for columns in range(8, len(text)):
        assert f"83.0 {unit}" in wrap(text, columns)


def test_a_number_before_another_word_may_stand_apart() -> None:
    assert wrap("all 100 steps of it", 8) == "all 100\nsteps of\nit"


def test_a_gain_stays_with_its_word() -> None:
    assert wrap("it is 2.6× faster", 10) == "it is\n2.6× faster"


def test_items_between_separators_are_kept_together() -> None:
    assert wrap("warm up 10 % · steady steps 89 %", 26) == "warm up 10 % ·\nsteady steps 89 %"


def test_an_item_longer_than_a_line_is_broken_like_other_text() -> None:
    assert wrap("a · one two three", 7) == "a · one\ntwo\nthree"


def test_a_path_is_not_broken() -> None:
    path = "a/very-long/path_to/train.py:31"

    assert wrap(f"see {path}", 10) == f"see\n{path}"


@given(words, st.integers(-3, 90))
def test_wrapping_changes_nothing_but_where_lines_end(text: str, columns: int) -> None:
    assert wrap(text, columns).split() == text.split()


@given(words, st.integers(30, 90))
def test_lines_fit(text: str, columns: int) -> None:
    assert all(len(line) <= columns for line in wrap(text, columns).splitlines())


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("━ 3 µs × 2", "utf-8", "━ 3 µs × 2"),
        ("━ 3 µs × 2", "ascii", "# 3 us x 2"),
        ("3 µs", "latin-1", "3 µs"),
        ("stufe_größe", "ascii", "stufe_gr??e"),
        ("━ µ ß", "no-such-encoding", "# u ?"),
    ],
)
def test_signs_that_an_encoding_lacks_become_plain(text: str, encoding: str, shown: str) -> None:
    assert to_encoding(text, encoding) == shown


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["ascii", "cp1252"]))
def test_any_text_can_be_written_in_any_encoding(text: str, encoding: str) -> None:
    to_encoding(text, encoding).encode(encoding)
