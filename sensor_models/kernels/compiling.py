"""One way to declare a compiled kernel and to call it, wherever its machine code comes from.

``njit`` and ``cfunc`` take the place of Numba's decorators, with the same options, and
``intrinsic`` that of its own. None of them imports Numba. A kernel that is called looks for its
machine code by the kinds of its arguments: among what it was called with before, in the library
that the FMU carries (``carried``), in the cache, and only then has Numba compile it; Numba is
imported then, and what it makes is kept (``cache``). Where kernels are carried, only these are
called: arguments of other kinds are refused by name. In a kernel that Numba compiles, others stand
for Numba's own functions: what a kernel calls is compiled with it, and never taken from the cache.
So equal sources give equal bits, whatever was cached.

A kernel that cannot be kept is called through Numba as long as the process lives: one that takes
what kernels here do not (``values``), or that Numba has compiled in a way that is not known.
"""

import ctypes
import functools
import hashlib
import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from sensor_models.kernels import cache, machine_code, object_files, private
from sensor_models.kernels.carried import LIBRARIES, NotCarriedError
from sensor_models.kernels.machine_code import Call, MachineCode
from sensor_models.kernels.quick import quick_call
from sensor_models.kernels.values import (
    Kind,
    UnknownKindError,
    ctypes_of,
    differences,
    fits,
    kind_of,
    kinds_in,
)

Function = Callable[..., Any]

_PACKAGE = __name__.partition(".kernels")[0]

_log = logging.getLogger(__name__)

#: Held while machine code is looked for or made. Locks are taken in one order: this one, that of
#: Numba's compiler, those of ``carried`` and ``machine_code``. While Numba compiles for others it
#: asks for kernels (``_numba_type_``), so what that needs must not take this one.
_lock = threading.RLock()

#: What a build sets: the platforms that objects for libraries of kernels are kept for, too; and
#: whether a process that compiles for libraries alone is to keep those for processes as well.
OBJECTS_VARIABLE, FOR_PROCESSES = "SENSOR_FMUS_OBJECTS", "process"
_objects = os.environ.get(OBJECTS_VARIABLE, "").split(",")
_platforms = [platform for platform in object_files.TRIPLES if platform in _objects]

if not LIBRARIES.level():
    cache.store()  # says now what is wrong with it, if anything is


def _own_lock() -> Any:
    return _lock


def _lock_of_numba() -> Any:
    from numba.core.compiler_lock import global_compiler_lock

    return global_compiler_lock


class _Once:
    """An attribute that is made under a lock when somebody first asks for it.

    ``functools.cached_property`` of Python 3.10 and 3.11 has a lock of its own for all objects of a
    class: one thread would take it before the locks above, another one after them.
    """

    def __init__(self, lock: Callable[[], Any], make: Function) -> None:
        self._lock, self._make = lock, make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        with self._lock():
            made = vars(owner)  # what is in there is found without asking here
            if self._name not in made:
                made[self._name] = self._make(owner)
            return made[self._name]


#: All kernels that were declared and are alive.
KERNELS: "weakref.WeakSet[Kernel]" = weakref.WeakSet()


class Stats:
    """Where the machine code of a kernel came from, for each kind of arguments."""

    def __init__(self) -> None:
        self.carried = 0
        self.from_cache = 0
        self.compiled = 0
        #: Of those: what cannot be kept, and has Numba compile it in each process anew.
        self.not_kept = 0


class NotKeptError(RuntimeError):
    """A kernel that has no objects, and is called through Numba as long as the process lives."""


class Kernel:
    """A compiled function: floats, integers, truth values, arrays and tuples of them."""

    __name__: str
    __qualname__: str
    #: Whether C may call it, too.
    for_c = False

    def __init__(self, function: Function, signature: Any, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.stats = Stats()
        self._signature = signature
        self._options = {**options, "cache": False}
        self._count = function.__code__.co_argcount  # a kernel has no others
        self._source = _source_of(function)
        self._calls: dict[tuple[Kind, ...], Function] = {}
        #: What calls it without looking at each argument in Python.
        self._quick: list[Function] = []
        KERNELS.add(self)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call it with numbers, arrays and tuples of them."""
        if named or len(arguments) != self._count:
            arguments = self._bound(arguments, named)
        for quick in self._quick:
            result = quick(arguments)
            if result is not NotImplemented:
                return result
        try:
            call = self._find(tuple([kind_of(value) for value in arguments]))
        except UnknownKindError as unknown:
            if LIBRARIES.level():
                raise NotCarriedError(f"{self!r} cannot be called: {unknown}") from unknown
            return self.dispatcher(*arguments)
        return call(arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"

    def _bound(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        import inspect  # late: few calls name arguments

        bound = inspect.signature(self.py_func).bind(*arguments, **named)
        bound.apply_defaults()
        return bound.args

    # ---- Numba's side ------------------------------------------------------------------------

    @functools.partial(_Once, _lock_of_numba)
    def optimised(self) -> Any:
        """Numba's function, which objects are made of and kernels call; it cannot be called."""
        return private.once_for_constants(self._jitted(**private.NO_WRAPPERS))

    @functools.partial(_Once, _lock_of_numba)
    def dispatcher(self) -> Any:
        """Numba's function, for calls through Numba."""
        return self._jitted()

    def _jitted(self, **more: Any) -> Any:
        import numba

        given = () if self._signature is None else (self._signature,)
        return numba.njit(*given, **self._options, **more)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes a kernel for that another one calls."""
        machine_code.tell_llvm()  # for callers that Numba compiles without us
        return private.type_of_function(self.optimised)

    # ---- machine code ------------------------------------------------------------------------

    def _find(self, kinds: tuple[Kind, ...]) -> Function:
        """Machine code for arguments of these kinds."""
        found = self._calls.get(kinds)
        if found is not None:
            return found
        with _lock:
            if kinds not in self._calls:
                self._calls[kinds] = self._carried(kinds) or self._made(kinds)
                self._add_quick(self._calls[kinds], kinds)
            return self._calls[kinds]

    def _add_quick(self, call: Function, kinds: tuple[Kind, ...]) -> None:
        if isinstance(call, Call) and not self.for_c:
            quick = quick_call(call, kinds)
            if quick is not None:
                self._quick.append(quick)

    def kinds(self) -> list[tuple[Kind, ...]]:
        """The kinds of arguments that it was called with."""
        return list(self._calls)

    def place(self) -> tuple[str, str, int]:
        """Where it is declared, the same in all processes and FMUs: module or file, name, line."""
        return self._source, self.__qualname__, self.py_func.__code__.co_firstlineno

    def _made(self, kinds: tuple[Kind, ...]) -> Function:
        """Machine code that is not carried; refused where kernels are."""
        if LIBRARIES.level():
            raise NotCarriedError(self._not_carried(kinds))
        return self.make(kinds)

    def _not_carried(self, kinds: tuple[Kind, ...]) -> str:
        """Which arguments a call must have others of, if the kernel is carried at all."""
        code = self.py_func.__code__
        names = code.co_varnames[: code.co_argcount]
        found = [
            list(differences(names, kinds, carried))
            for carried in LIBRARIES.kinds_for(self.name(kinds))
            if len(carried) == len(kinds)
        ]
        if not found:
            return f"{self!r} is carried by no FMU of this process: build its FMU with kernels"
        closest: list[str] = min(found, key=len)
        return f"{self!r} is carried by no FMU for these arguments: {', '.join(closest)}"

    def make(self, kinds: tuple[Kind, ...]) -> Function:
        """Machine code that the cache has, or that Numba makes now."""
        try:
            return self._load(kinds) or self._compile(kinds)
        except ModuleNotFoundError as missing:
            raise ImportError(
                f"{self!r} for {kinds} is not carried, and cannot be compiled: {missing}"
            ) from missing

    def objects(self, kinds: tuple[Kind, ...]) -> dict[str, MachineCode]:
        """Objects for libraries, for each platform that the build wants.

        None for processes is made if nobody wants it: it takes a third of the time of emitting.
        """
        wanted = [*_platforms, ""] if FOR_PROCESSES in _objects else _platforms
        found = {p: cache.store().load(self.__module__, self.name(kinds), p) for p in wanted}
        kept = {platform: code for platform, code in found.items() if code is not None}
        if len(kept) < len(found):
            with _lock:
                kept = self._emit(kinds, wanted)
        return {platform: kept[platform] for platform in _platforms}

    def name(self, kinds: tuple[Kind, ...]) -> str:
        """A name for the machine code that no other one has."""
        place, key = (hashlib.sha256(repr(x).encode()).hexdigest() for x in (self.place(), kinds))
        return f"{self.__name__}_{place[:12]}_{key[:24]}"

    def _carried(self, kinds: tuple[Kind, ...]) -> Call | None:
        found = LIBRARIES.call(self.name(kinds), kinds)
        self.stats.carried += found is not None
        return found

    def _load(self, kinds: tuple[Kind, ...]) -> Call | None:
        name = self.name(kinds)
        if not all(cache.store().has(self.__module__, name, p) for p in _platforms):
            return None
        code = cache.store().load(self.__module__, name)
        if code is None:
            return None
        self.stats.from_cache += 1
        return machine_code.load(code)

    def _compile(self, kinds: tuple[Kind, ...]) -> Function:
        try:
            code = self._emit(kinds, (*_platforms, ""))[""]
        except NotKeptError as reason:
            self.stats.not_kept += 1
            _log.debug("%r is called through Numba: %r", self, reason.__cause__)
            return lambda arguments: self.dispatcher(*arguments)
        return machine_code.load(code)

    def _emit(self, kinds: tuple[Kind, ...], platforms: Sequence[str]) -> dict[str, MachineCode]:
        """Have Numba compile it, and keep the objects for platforms, "" being this process."""
        self.stats.compiled += 1
        machine_code.tell_llvm()
        nogil = bool(self._options.get("nogil"))
        not_kept = NotKeptError(f"{self!r} for {kinds} cannot be carried: Numba calls it")
        try:
            if _platforms:
                private.without_places()
            with private.without_machine_code():
                compiled, own = self._compiled(kinds)
        except (AttributeError, ImportError, KeyError) as reason:  # Numba's interfaces have changed
            raise not_kept from reason
        try:
            objects = object_files.make(
                self.name(kinds), compiled, own, nogil, self.for_c, platforms
            )
        except Exception as reason:  # a changed private interface may raise anything
            raise not_kept from reason
        for platform, code in objects.items():
            cache.store().save(self.__module__, code, platform)
        return objects

    def _compiled(self, kinds: tuple[Kind, ...]) -> tuple[Any, tuple[Kind, ...]]:
        """What Numba makes of it for arguments of these kinds, and the kinds that it takes."""
        if self._signature is None:
            types = tuple(object_files.type_of_kind(kind) for kind in kinds)
            self.optimised.compile(types)
            return self.optimised.overloads[types], kinds
        ((types, compiled),) = self.optimised.overloads.items()
        own = tuple(object_files.kind_of_type(found) for found in types)
        if len(own) != len(kinds) or not all(map(fits, kinds, own)):
            raise TypeError(f"{self!r} takes {own}, not {kinds}")
        return compiled, own


def _source_of(function: Function) -> str:
    """The module of this package that declares a function, or a digest of another one's file."""
    if function.__module__.startswith(f"{_PACKAGE}."):
        return function.__module__.removeprefix(f"{_PACKAGE}.")
    try:
        content = Path(function.__code__.co_filename).read_bytes()
    except OSError:  # it was typed in
        content = repr((function.__code__.co_code, function.__code__.co_consts)).encode()
    return hashlib.sha256(content).hexdigest()


class Callback(Kernel):
    """A compiled function that C calls by its address."""

    for_c = True

    @functools.partial(_Once, _own_lock)
    def ctypes(self) -> Any:
        """It as a function of ctypes, which gives up Python's lock."""
        result, *arguments = kinds_in(self._signature)
        call = self._find(tuple(arguments))
        if not isinstance(call, Call):  # it is called through Numba
            import numba

            return numba.cfunc(self._signature, **self._options)(self.py_func).ctypes
        types = [ctypes_of(kind) for kind in (result, *arguments)]
        return ctypes.CFUNCTYPE(*types)(call.c_address)

    @property
    def address(self) -> int:
        """Where it is."""
        return int(ctypes.cast(self.ctypes, ctypes.c_void_p).value or 0)


class Intrinsic:
    """A function that Numba makes code of, for kernels to call."""

    def __init__(self, function: Function) -> None:
        self.__doc__, self.__module__ = function.__doc__, function.__module__
        self._function = function

    @functools.partial(_Once, _lock_of_numba)
    def _numba_type_(self) -> Any:
        return private.type_of_intrinsic(self._function)


_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def njit(function: _F, /) -> _F: ...
@overload
def njit(signature: str, /, **options: Any) -> Callable[[_F], _F]: ...
@overload
def njit(**options: Any) -> Callable[[_F], _F]: ...
def njit(*given: Any, **options: Any) -> Any:
    """Numba's ``njit``: a decorator, with a signature and options or without.

    For those who check types a kernel is the function that it is made of.
    """
    if given and callable(given[0]):
        return Kernel(given[0], None, options)
    signature = given[0] if given else None
    return lambda function: Kernel(function, signature, options)


def plain(kernel: _F) -> _F:
    """The Python function that a kernel is made of."""
    function: _F = vars(kernel)["py_func"]
    return function


def cfunc(signature: str, **options: Any) -> Callable[[Function], Callback]:
    """Numba's ``cfunc``: a decorator."""
    return lambda function: Callback(function, signature, options)


def intrinsic(function: Function) -> Any:
    """Numba's ``intrinsic``: a decorator."""
    return Intrinsic(function)
