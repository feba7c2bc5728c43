"""The integers of an answer in a file: a list, or the bytes of many, those of one place together.

Noise does not compress, but the upper bytes of its integers do, as they are nearly all signs; and a law that rounds to a
lattice leaves zeros below. So zeros that all integers end in are left out, the lowest byte of each stands as it is, and the
others are compressed place by place. The lowest bytes are as many as there are integers, which are at most eight times as long:
a small file cannot ask for much memory.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.strict_json import MANY, WORD, Fields, each, refuse, unpacked

Integers = NDArray[np.int64]

WRONG_SIZE = "an answer of the wrong size for its question"
LEVEL, WINDOW, MEMORY = 1, 15, 9  # of zlib: there is nothing to be found but runs of signs


def integers_record(integers: Integers) -> list[int] | dict[str, Any]:
    """Return integers as a list; many of them as integers of ``width`` bytes, times 2^``shift``."""
    if len(integers) <= MANY:
        listed: list[int] = integers.tolist()
        return listed
    together = int(np.bitwise_or.reduce(integers))
    shift = max((together & -together).bit_length() - 1, 0)
    largest = max(int(integers.max()), ~int(integers.min())) >> shift
    width = largest.bit_length() // 8 + 1  # with the sign
    shift = min(shift, 8 * (WORD - width))
    places = (integers >> shift).astype("<i8").view(np.uint8).reshape(-1, WORD)[:, :width].T
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW, MEMORY, zlib.Z_RLE)
    upper = packer.compress(places[1:].tobytes()) + packer.flush()
    return {"shift": shift, "width": width, "lowest": _text(places[0].tobytes()), "upper": _text(upper)}


def read_integers(fields: Fields, record: object, size: int) -> Integers:
    """Read so many integers and no more."""
    if isinstance(record, list):
        listed = each(fields.take("integers", list), int, "integers")
        if len(listed) != size or any(not -(2**63) <= value < 2**63 for value in listed):
            refuse("consistent", WRONG_SIZE)
        return np.array(listed, dtype=np.int64)
    many = Fields(fields.take("integers", dict), "integers")
    shift, width = many.take("shift", int), many.take("width", int)
    lowest, upper = many.take("lowest", str), many.take("upper", str)
    many.end()
    if not (1 <= width <= WORD and 0 <= shift <= 8 * (WORD - width)):
        refuse("consistent", "integers that do not fit into 64 bits")
    first = _bytes(lowest, size)
    others = unpacked(upper, size * (width - 1), WRONG_SIZE)
    words = np.zeros((size, WORD), dtype=np.uint8)
    words[:, WORD - width] = np.frombuffer(first, dtype=np.uint8)
    words[:, WORD - width + 1 :] = np.frombuffer(others, dtype=np.uint8).reshape(width - 1, size).T
    integers = words.view("<i8").ravel().astype(np.int64, copy=False)
    integers >>= 8 * (WORD - width)  # the sign moves into the bytes that are not stored
    integers <<= shift
    return integers


def _bytes(text: str, size: int) -> bytes:
    """Return so many bytes and no more."""
    try:
        found = base64.b64decode(text, validate=True) if len(text) == (size + 2) // 3 * 4 else b""
    except ValueError:
        refuse("well formed: many integers are base64", "other text")
    return found if len(found) == size else refuse("consistent", WRONG_SIZE)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
