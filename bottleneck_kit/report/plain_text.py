"""A report's text line by line: wrapped at good places, and in encodings that lack its signs."""

from __future__ import annotations

import re
import textwrap

_GLUE = "\u00a0"
_BEFORE_A_UNIT = re.compile(r"(?<=\d) (?=(?:%|[µm]?s|min|h|[KMGT]?i?B)(?![^\W_]))|(?<=×) ")

_PLAIN_SIGNS = str.maketrans(
    {
        "µ": "u",
        "×": "x",
        "·": "-",
        "•": "*",
        "●": "*",
        "…": "...",
        "→": "->",
        "━": "#",
        "│": "|",
        "┌": "/",
        "–": "-",
        "’": "'",
    }
)


SEPARATOR = " · "


def wrap(text: str, columns: int) -> str:
    """Wraps at spaces, but never between a number and its unit.

    What stands between two separators (``a 1 ms · b 2 ms``) is kept together where a line holds
    it. A word longer than ``columns`` (a path, mostly) stays whole on a line of its own.
    """
    if SEPARATOR in text:
        items = text.split(SEPARATOR)
        text = SEPARATOR.join(
            item.replace(" ", _GLUE) if len(item) + 2 <= columns else item for item in items
        ).replace(SEPARATOR, f"{_GLUE}· ")
    glued = _BEFORE_A_UNIT.sub(_GLUE, text)
    lines = textwrap.wrap(glued, max(1, columns), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(_GLUE, " ")


def to_encoding(text: str, encoding: str) -> str:
    """Gives the text with plain signs in place of those ``encoding`` has no code for.

    A name of the user's that cannot be written either becomes question marks: a report must not
    fail where it is printed.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.translate(_PLAIN_SIGNS)
        return plain.encode(encoding, errors="replace").decode(encoding)
    except LookupError:
        return text.translate(_PLAIN_SIGNS).encode("ascii", errors="replace").decode("ascii")
    return text
