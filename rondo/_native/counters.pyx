"""Behaviours and lines as counters that the running libFuzzer sees as features.

libFuzzer keeps an input when some 8-bit counter reaches a bucket that it never reached before.
This module owns one array of such counters and hands it to the libFuzzer inside atheris, as
instrumented C code hands in its own; a behaviour's counter is its hash modulo the array's size.

One array of fixed size, because libFuzzer accepts at most 4096 modules and dies at the next, so
that one registration per new behaviour would end a campaign; and 65536 counters, because libFuzzer
reads all of them after every execution: 5 microseconds, against 92 for a million. Two behaviours
that share a counter cost a feature, not a wrong report.

Order of imports. atheris links its mutator hooks weakly: once its core is loaded, a custom mutator
that is not yet there is silently ignored. A target that has one begins like this::

    import sys, os
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | os.RTLD_GLOBAL)
    import atheris.custom_mutator                 # first, and visible to the core
    sys.setdlopenflags(flags)
    import atheris.core_with_libfuzzer            # now the core, which finds the mutator
    import atheris
    from rondo._native import counters

    counters.register()                           # "Loaded 1 modules (65536 inline 8-bit counters)"
    atheris.Setup(sys.argv, run_one, custom_mutator=mutate)
    atheris.Fuzz()                                # "found LLVMFuzzerCustomMutator"

A target without a custom mutator needs only the last five lines.
"""

from libc.stdint cimport uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc
from libc.string cimport memset
from cpython.bytes cimport PyBytes_FromStringAndSize

import os
import sys

from rondo._native import LibFuzzerMissingError
from rondo._native.behaviour import as_hashes

cdef extern from "dlfcn.h" nogil:
    enum: RTLD_NOW
    enum: RTLD_NOLOAD
    void* dlopen(const char* path, int flags)
    void* dlsym(void* library, const char* name)
    int dlclose(void* library)

ctypedef void (*counters_init)(uint8_t* start, uint8_t* stop) noexcept
ctypedef void (*pcs_init)(const uintptr_t* start, const uintptr_t* stop) noexcept

cdef enum:
    N_COUNTERS = 65536

SIZE = N_COUNTERS

# Static, not heap: libFuzzer reads it until the process ends, after Python's own memory is gone.
cdef uint8_t counters[N_COUNTERS]
memset(counters, 0, sizeof(counters))
cdef bint _registered = False


cdef inline void _hit(uint64_t h) noexcept nogil:
    """Saturates: 256 hits must not look like none."""
    cdef uint8_t* counter = &counters[h & (N_COUNTERS - 1)]
    counter[0] += counter[0] != 255


def hit(uint64_t h):
    """Counts one sight of the behaviour or line with hash `h` in this execution."""
    _hit(h)


def hit_many(hashes):
    """As `hit`, for every hash of an iterable or of a buffer of unsigned 64-bit items."""
    cdef const uint64_t[::1] keys = as_hashes(hashes)
    cdef Py_ssize_t i
    for i in range(keys.shape[0]):
        _hit(keys[i])


def clear():
    """Sets every counter to 0. libFuzzer does so itself before each execution."""
    memset(counters, 0, sizeof(counters))


def values():
    """A copy of all counters."""
    return PyBytes_FromStringAndSize(<char*> counters, N_COUNTERS)


def registered():
    """Whether a libFuzzer has been given the counters."""
    return _registered


def register():
    """Hands the counters to the libFuzzer inside atheris, once; call it before `atheris.Fuzz()`.

    Raises LibFuzzerMissingError when atheris's core is not imported yet: importing it here would
    decide the order of imports, and with it whether a custom mutator works, behind the caller's
    back.
    """
    global _registered
    cdef void* library
    cdef void* give_counters
    cdef void* give_places
    cdef uintptr_t* places
    cdef Py_ssize_t i
    if _registered:
        return
    core = sys.modules.get("atheris.core_with_libfuzzer")
    if core is None:
        raise LibFuzzerMissingError(
            "no libFuzzer is loaded: import atheris.core_with_libfuzzer before "
            "rondo._native.counters.register(), and a custom mutator's module before that")
    path = os.fsencode(core.__file__)
    library = dlopen(path, RTLD_NOW | RTLD_NOLOAD)
    if library == NULL:
        raise LibFuzzerMissingError(f"{core.__file__} is imported but not loaded as a library")
    give_counters = dlsym(library, "__sanitizer_cov_8bit_counters_init")
    give_places = dlsym(library, "__sanitizer_cov_pcs_init")
    dlclose(library)                    # RTLD_NOLOAD counts as one more use; the core stays loaded
    if give_counters == NULL or give_places == NULL:
        raise LibFuzzerMissingError(
            f"{core.__file__} does not export libFuzzer's coverage interface; "
            "this Rondo knows atheris 3.0 and 3.1")
    # libFuzzer wants one (address, flags) pair per counter. Ours stand for no code: any distinct
    # addresses do, and no flags, so that it prints no function names for them.
    places = <uintptr_t*> calloc(2 * N_COUNTERS, sizeof(uintptr_t))
    if places == NULL:
        raise MemoryError("no memory for libFuzzer's table of places")
    for i in range(N_COUNTERS):
        places[2 * i] = <uintptr_t> &counters[i]
    (<counters_init> give_counters)(counters, counters + N_COUNTERS)
    (<pcs_init> give_places)(places, places + 2 * N_COUNTERS)
    _registered = True
