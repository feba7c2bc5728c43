"""A mistake put into a package that is already imported, in a process of its own that ends with the tests.

To import package and tests anew for each of thousands of mistakes would take far longer than the tests. So they are imported
once, and a forked process changes what they hold: the code of functions in place, wherever else they were imported to; and
what a module, a class or a default held before, for what it holds when the module is run with the mistake.
"""

from __future__ import annotations

import functools
import gc
import sys
import types
from collections.abc import Iterator
from itertools import zip_longest
from types import CodeType, FunctionType, ModuleType

from tests.mutation.operators import fingerprint

PACKAGE = "dpcov"


class CannotPatchError(Exception):
    """The mistake is in what ran while the module was imported, and left no trace that could be changed."""


class Loaded:
    """What is there to be changed, looked up once: functions by their code, and caches that know old results."""

    def __init__(self) -> None:
        self._functions: dict[CodeType, list[FunctionType]] = {}
        self._caches: list[functools._lru_cache_wrapper[object]] = []
        for thing in gc.get_objects():
            if type(thing) is FunctionType and (thing.__module__ or "").startswith(PACKAGE):
                self._functions.setdefault(thing.__code__, []).append(thing)
            elif isinstance(thing, functools._lru_cache_wrapper) and (thing.__module__ or "").startswith((PACKAGE, "tests")):
                self._caches.append(thing)

    def patch(self, module: str, old: CodeType, new: CodeType) -> None:
        """Make the mistake: both are the whole module, as it was and with it."""
        changed = [*_changed(old, new)]
        for before, after in changed:
            if before.co_flags & 0x1:  # a function: CO_OPTIMIZED; what is inside one that was called lives on its own
                for function in self._functions.get(before, ()):
                    try:
                        function.__code__ = after
                    except ValueError as error:  # it closes over other names
                        raise CannotPatchError from error
        if not any(before.co_flags & 0x1 and before in self._functions for before, _ in changed) and not transplant(
            module, new
        ):
            raise CannotPatchError
        for cache in self._caches:
            cache.cache_clear()


def _changed(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the pieces of code that differ, with what they become, from the outermost to the innermost."""
    if fingerprint(old) == fingerprint(new):
        return
    yield old, new
    inner = ([one for one in code.co_consts if isinstance(one, CodeType)] for code in (old, new))
    for before, after in zip_longest(*inner):
        if before is None or after is None or before.co_name != after.co_name:
            return
        yield from _changed(before, after)


def transplant(name: str, code: CodeType) -> bool:
    """Run a module anew, beside the one that is loaded, and give that one's values of before the new ones."""
    loaded, scratch = sys.modules[name], ModuleType(name)
    scratch.__dict__.update({key: vars(loaded)[key] for key in ("__file__", "__package__", "__spec__", "__loader__")})
    exec(code, vars(scratch))
    done = False
    for key, new in list(vars(scratch).items()):
        old = vars(loaded).get(key)
        if key.startswith("__") or _same(old, new):
            continue
        if isinstance(new, type) and isinstance(old, type):
            done |= old.__module__ == name and _renewed_class(old, new)
        elif isinstance(new, FunctionType | functools._lru_cache_wrapper):
            done |= getattr(old, "__module__", None) == name and _renewed_defaults(old, new)
        elif _plain(new):
            for module in list(sys.modules.values()):
                if getattr(module, "__name__", "").startswith((PACKAGE, "tests")) and vars(module).get(key) is old:
                    setattr(module, key, new)
                    done = True
    return done


def _renewed_class(old: type, new: type) -> bool:
    done = False
    for key, value in list(vars(new).items()):
        before = vars(old).get(key)
        value_in, before_in = getattr(value, "__func__", value), getattr(before, "__func__", before)
        if isinstance(value_in, FunctionType) and isinstance(before_in, FunctionType):
            done |= _renewed_defaults(before_in, value_in)
        elif not key.startswith("__") and _plain(value) and not _same(before, value):
            setattr(old, key, value)
            done = True
    return done


def _renewed_defaults(old: object, new: object) -> bool:
    old, new = getattr(old, "__wrapped__", old), getattr(new, "__wrapped__", new)
    if not isinstance(old, FunctionType) or not isinstance(new, FunctionType):
        return False
    before, after = (old.__defaults__, old.__kwdefaults__), (new.__defaults__, new.__kwdefaults__)
    if repr(before) == repr(after):
        return False
    old.__defaults__, old.__kwdefaults__ = after
    return True


def _plain(value: object) -> bool:
    return not isinstance(value, type | ModuleType | types.GenericAlias | types.UnionType) and not callable(value)


def _same(old: object, new: object) -> bool:
    return old is new or (type(old) is type(new) and _plain(new) and repr(old) == repr(new))
