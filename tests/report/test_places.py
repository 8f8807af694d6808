"""Places fit a table without losing what a person clicks on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bottleneck_kit.report.places import current_folder, short_place

FOLDER = Path("/home/ada/flowers")


@pytest.mark.parametrize(
    ("file", "line", "width", "shown"),
    [
        ("/home/ada/flowers/train.py", 31, 40, "train.py:31"),
        ("/home/ada/flowers/data/read.py", 7, 40, "data/read.py:7"),
        ("/opt/lib/images.py", 7, 40, "/opt/lib/images.py:7"),
        ("/opt/lib/python/site-packages/images.py", 7, 30, "…/site-packages/images.py:7"),
        ("/opt/lib/python/site-packages/images.py", 1234, 16, "…/images.py:1234"),
        ("/opt/lib/python/site-packages/images.py", 1234, 10, "…s.py:1234"),
        ("/opt/a_long_name_of_a_file.py", 5, 12, "…a_file.py:5"),
        ("train.py", 3, 40, "train.py:3"),
        ("<stdin>", 3, 40, "<stdin>:3"),
        ("/home/ada/flowers/train.py", None, 40, "train.py"),
        (None, None, 40, ""),
    ],
)
def test_a_place(file: str | None, line: int | None, width: int, shown: str) -> None:
    assert short_place(file, line, width=width, folder=FOLDER) == shown


def test_the_home_folder_is_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")

    assert short_place("/home/ada/other/x.py", 1, width=40, folder=FOLDER) == "~/other/x.py:1"


def test_without_a_folder_the_path_stays_whole() -> None:
    assert short_place("/opt/x.py", 1, width=40, folder=None) == "/opt/x.py:1"


@given(
    st.lists(st.text("abcdef_.", min_size=1, max_size=12), min_size=1, max_size=6),
    st.integers(1, 99_999),
    st.integers(1, 60),
)
def test_the_line_number_is_always_whole(names: list[str], line: int, width: int) -> None:
    short = short_place("/" + "/".join(names), line, width=width, folder=FOLDER)

    assert short.endswith(f":{line}")
    assert len(short) <= max(width, len(f":{line}") + 2)


def test_the_current_folder_may_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Path:
        raise FileNotFoundError("getcwd")

    monkeypatch.setattr(Path, "cwd", gone)

    assert current_folder() is None
