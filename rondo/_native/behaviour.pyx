"""Behaviours as 64-bit hashes, and how often each was seen.

The key insight: a compile event is interesting only through its identity and its rarity, so the
campaign never needs the event again - a hash and a count are enough, sixteen bytes each. The
hash is XXH64, bit for bit the published one, because it must be equal in every process, on every
machine and in every later version of Rondo: Python's own `hash` is salted per process.

The map is one flat table with linear probing. A dict of int to int would hold two boxed objects
per behaviour (about 100 bytes) and could not be filled from another extension without them.
"""

from libc.math cimport log
from libc.stdint cimport UINT64_MAX, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_Check

import os
import tempfile
from array import array

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL


# ------------------------------------------------------------------------------------------ XXH64

cdef enum:
    STRIPE = 32             # XXH64 eats 32 bytes at a time, as four lanes of 8

cdef uint64_t PRIME_1 = 0x9E3779B185EBCA87ULL
cdef uint64_t PRIME_2 = 0xC2B2AE3D27D4EB4FULL
cdef uint64_t PRIME_3 = 0x165667B19E3779F9ULL
cdef uint64_t PRIME_4 = 0x85EBCA77C2B2AE63ULL
cdef uint64_t PRIME_5 = 0x27D4EB2F165667C5ULL


cdef inline uint64_t _rotate(uint64_t value, int bits) noexcept nogil:
    return (value << bits) | (value >> (64 - bits))


cdef inline uint32_t _read32(const unsigned char* at) noexcept nogil:
    """Little-endian whatever the host is; compilers turn the shifts into one load."""
    return (<uint32_t> at[0] | (<uint32_t> at[1] << 8)
            | (<uint32_t> at[2] << 16) | (<uint32_t> at[3] << 24))


cdef inline uint64_t _read64(const unsigned char* at) noexcept nogil:
    return <uint64_t> _read32(at) | (<uint64_t> _read32(at + 4) << 32)


cdef inline void _write64(unsigned char* at, uint64_t value) noexcept nogil:
    cdef int i
    for i in range(8):
        at[i] = <unsigned char> (value >> (8 * i))


cdef inline uint64_t _round(uint64_t lane, uint64_t word) noexcept nogil:
    return _rotate(lane + word * PRIME_2, 31) * PRIME_1


cdef inline uint64_t _fold(uint64_t state, uint64_t lane) noexcept nogil:
    return (state ^ _round(0, lane)) * PRIME_1 + PRIME_4


cdef uint64_t xxh64(const unsigned char* data, size_t size, uint64_t seed) noexcept nogil:
    """The published XXH64 of `size` bytes at `data`."""
    cdef const unsigned char* end = data + size
    cdef uint64_t a, b, c, d, state
    if size >= STRIPE:
        a = seed + PRIME_1 + PRIME_2
        b = seed + PRIME_2
        c = seed
        d = seed - PRIME_1
        while data + STRIPE <= end:
            a = _round(a, _read64(data))
            b = _round(b, _read64(data + 8))
            c = _round(c, _read64(data + 16))
            d = _round(d, _read64(data + 24))
            data += STRIPE
        state = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        state = _fold(_fold(_fold(_fold(state, a), b), c), d)
    else:
        state = seed + PRIME_5
    state += size
    while data + 8 <= end:
        state = _rotate(state ^ _round(0, _read64(data)), 27) * PRIME_1 + PRIME_4
        data += 8
    if data + 4 <= end:
        state = _rotate(state ^ (<uint64_t> _read32(data) * PRIME_1), 23) * PRIME_2 + PRIME_3
        data += 4
    while data < end:
        state = _rotate(state ^ (<uint64_t> data[0] * PRIME_5), 11) * PRIME_1
        data += 1
    state = (state ^ (state >> 33)) * PRIME_2
    state = (state ^ (state >> 29)) * PRIME_3
    return state ^ (state >> 32)


def hash64(data, seed=0):
    """XXH64 of bytes, or of the UTF-8 form of a string; equal in every process and version.

    Lone surrogates, which a label may hold when it quotes a file name, are encoded as they stand,
    so that hashing never fails on a string.
    """
    cdef uint64_t salt = seed
    cdef Py_buffer view
    cdef uint64_t result
    cdef const char* text
    cdef Py_ssize_t size
    if PyUnicode_Check(data):
        try:
            text = PyUnicode_AsUTF8AndSize(data, &size)
            return xxh64(<const unsigned char*> text, size, salt)
        except UnicodeEncodeError:
            data = data.encode("utf-8", "surrogatepass")
    if not PyObject_CheckBuffer(data):
        raise TypeError(f"hash64 takes bytes or str, not {type(data).__name__}")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    result = xxh64(<const unsigned char*> view.buf, view.len, salt)
    PyBuffer_Release(&view)
    return result


# -------------------------------------------------------------------------------------------- map

cdef enum:
    SMALLEST = 64           # slots in an empty map
    HEADER = 32             # magic 8, version 8, executions 8, number of entries 8
    ENTRY = 16              # hash 8, count 8
    CHECKSUM = 8

MAGIC = b"RONDOMAP"
VERSION = 1


cdef inline uint64_t _saturated(uint64_t left, uint64_t right) noexcept nogil:
    return left + right if left <= UINT64_MAX - right else UINT64_MAX


cdef int _by_key(const void* left, const void* right) noexcept nogil:
    cdef uint64_t a = (<const Slot*> left).key
    cdef uint64_t b = (<const Slot*> right).key
    return (a > b) - (a < b)


def as_hashes(source):
    """The hashes of `source` as an unsigned 64-bit array; nothing is added when one is not a hash.

    Byte strings are refused: iterating one would quietly count its bytes as behaviours.
    """
    if isinstance(source, (bytes, bytearray, str)):
        raise TypeError(f"expected 64-bit hashes, not {type(source).__name__}")
    if not PyObject_CheckBuffer(source):
        return array("Q", source)
    view = memoryview(source)
    if view.format not in ("Q", "L") or view.itemsize != 8 or not view.c_contiguous:
        raise TypeError(f"expected unsigned 64-bit items, not format {view.format!r}")
    return view


cdef class BehaviourMap:
    """Counts per behaviour hash; iterates in ascending order of hash, so that two maps with equal
    contents are written as equal bytes whatever order they were filled in."""

    def __cinit__(self):
        self._slots = <Slot*> calloc(SMALLEST, sizeof(Slot))
        if self._slots == NULL:
            raise MemoryError("no memory for a behaviour map")
        self._mask = SMALLEST - 1

    def __init__(self, hashes=()):
        self.add_many(hashes)

    def __dealloc__(self):
        free(self._slots)

    # ------------------------------------------------------------------------------ the table

    cdef Slot* _find(self, uint64_t key) noexcept nogil:
        """The slot of `key`, or the free slot where it belongs.

        Keys are hashes already, but a test, or a caller that truncates, may hand in small
        numbers: one multiplication by the golden ratio keeps those from piling up.
        """
        cdef size_t at = (key * PRIME_1 >> 20) & self._mask
        while self._slots[at].count != 0 and self._slots[at].key != key:
            at = (at + 1) & self._mask
        return &self._slots[at]

    cdef int _grow(self, size_t capacity) except -1:
        cdef Slot* old = self._slots
        cdef Slot* slot
        cdef size_t i, old_capacity = self._mask + 1
        cdef Slot* fresh = <Slot*> calloc(capacity, sizeof(Slot))
        if fresh == NULL:
            raise MemoryError(f"no memory for a behaviour map of {capacity} slots")
        self._slots = fresh
        self._mask = capacity - 1
        for i in range(old_capacity):
            if old[i].count != 0:
                slot = self._find(old[i].key)
                slot[0] = old[i]
        free(old)
        return 0

    cdef int _reserve(self, size_t extra) except -1:
        """Room for `extra` more at under half full, where a probe takes 1.5 looks on average."""
        cdef size_t capacity = self._mask + 1
        while (self._used + extra) * 2 > capacity:
            capacity *= 2
        if capacity > self._mask + 1:
            self._grow(capacity)
        return 0

    cdef uint64_t _bump(self, uint64_t key, uint64_t by) noexcept nogil:
        """Counts `key`; the caller has made room, so this cannot fail."""
        cdef Slot* slot = self._find(key)
        if slot.count == 0:
            slot.key = key
            self._used += 1
        slot.count = _saturated(slot.count, by)
        self._total = _saturated(self._total, by)
        return slot.count

    cdef Slot* _sorted(self) except NULL:
        """A sorted copy of the occupied slots; the caller frees it."""
        cdef Slot* copy = <Slot*> malloc((self._used + 1) * sizeof(Slot))
        cdef size_t i, n = 0
        if copy == NULL:
            raise MemoryError("no memory to sort a behaviour map")
        for i in range(self._mask + 1):
            if self._slots[i].count != 0:
                copy[n] = self._slots[i]
                n += 1
        qsort(copy, n, sizeof(Slot), _by_key)
        return copy

    # -------------------------------------------------------------------------------- counting

    def add(self, uint64_t h):
        """Counts one sight of `h`; returns its new count, so 1 means "never seen before"."""
        self._reserve(1)
        return self._bump(h, 1)

    def add_many(self, hashes):
        """Counts every hash of an iterable or of a buffer of unsigned 64-bit items.

        Returns how many had never been seen. All or nothing: one bad item adds none.
        """
        cdef object source = as_hashes(hashes)
        cdef Py_buffer view
        cdef uint64_t* keys
        cdef size_t i, n, before = self._used
        PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
        try:
            keys = <uint64_t*> view.buf
            n = view.len // sizeof(uint64_t)
            for i in range(n):
                self._reserve(1)
                self._bump(keys[i], 1)
        finally:
            PyBuffer_Release(&view)
        return self._used - before

    def count(self, uint64_t h):
        """How often `h` was seen; 0 when never."""
        return self._find(h).count

    def note_execution(self):
        """Counts one execution: the denominator of rarity."""
        self.executions = _saturated(self.executions, 1)

    def rarity(self, uint64_t h):
        """``log((executions + 1) / (count + 1))``: how surprising `h` is, in nats.

        One is added on both sides so that a behaviour never seen gets the finite value
        ``log(executions + 1)``, the largest of all, and one seen by every execution gets 0.
        """
        return log((<double> self.executions + 1.0) / (<double> self._find(h).count + 1.0))

    @property
    def total(self):
        """The sum of all counts."""
        return self._total

    def __len__(self):
        return self._used

    def __contains__(self, h):
        return isinstance(h, int) and 0 <= h <= UINT64_MAX and self._find(h).count != 0

    def __iter__(self):
        return iter([h for h, _ in self.items()])

    def items(self):
        """Pairs of hash and count in ascending order of hash."""
        cdef Slot* slots = self._sorted()
        cdef size_t i
        try:
            return [(slots[i].key, slots[i].count) for i in range(self._used)]
        finally:
            free(slots)

    def merge(self, other):
        """Adds the counts and executions of another worker's map; returns how many were new."""
        if not isinstance(other, BehaviourMap):
            raise TypeError(f"merge takes a BehaviourMap, not {type(other).__name__}")
        cdef BehaviourMap that = other
        cdef size_t i, before = self._used
        cdef Slot* slots = that._sorted()       # a copy: `other` may be this very map
        cdef size_t n = that._used
        try:
            self._reserve(n)
            for i in range(n):
                self._bump(slots[i].key, slots[i].count)
        finally:
            free(slots)
        self.executions = _saturated(self.executions, that.executions)
        return self._used - before

    def copy(self):
        """An independent map with equal contents."""
        twin = BehaviourMap()
        twin.merge(self)
        return twin

    def __eq__(self, other):
        if not isinstance(other, BehaviourMap):
            return NotImplemented
        return self.executions == other.executions and self.items() == other.items()

    __hash__ = None

    def __repr__(self):
        return (f"<BehaviourMap {self._used} behaviours seen {self._total} times "
                f"in {self.executions} executions>")

    # ------------------------------------------------------------------------------ saved form

    def to_bytes(self):
        """Magic, version, executions, number of entries, sorted entries, XXH64 of all before."""
        cdef Py_ssize_t size = HEADER + ENTRY * <Py_ssize_t> self._used + CHECKSUM
        cdef bytes out = PyBytes_FromStringAndSize(NULL, size)
        cdef unsigned char* at = <unsigned char*> PyBytes_AS_STRING(out)
        cdef unsigned char* start = at
        cdef Slot* slots = self._sorted()
        cdef const char* magic = b"RONDOMAP"
        cdef size_t i
        for i in range(8):
            at[i] = <unsigned char> magic[i]
        _write64(at + 8, VERSION)
        _write64(at + 16, self.executions)
        _write64(at + 24, self._used)
        at += HEADER
        for i in range(self._used):
            _write64(at, slots[i].key)
            _write64(at + 8, slots[i].count)
            at += ENTRY
        free(slots)
        _write64(at, xxh64(start, size - CHECKSUM, 0))
        return out

    @classmethod
    def from_bytes(cls, data):
        """The inverse of `to_bytes`; anything else raises ValueError with one line saying why.

        Strict on purpose: a map decides what counts as rare, so a damaged one must not steer a
        campaign. The checksum catches accidents, the order and count checks catch writers.
        """
        cdef bytes raw = bytes(data)
        cdef const unsigned char* at = <const unsigned char*> PyBytes_AS_STRING(raw)
        cdef size_t size = PyBytes_GET_SIZE(raw)
        cdef uint64_t n, i, key, last = 0, count
        if size < HEADER + CHECKSUM:
            raise ValueError(f"behaviour map is cut short: {size} bytes")
        if raw[:8] != MAGIC:
            raise ValueError("not a behaviour map: it does not start with RONDOMAP")
        if _read64(at + 8) != <uint64_t> VERSION:
            raise ValueError(
                f"behaviour map has version {_read64(at + 8)}, this Rondo reads {VERSION}")
        n = _read64(at + 24)
        if (size - HEADER - CHECKSUM) % ENTRY or n != (size - HEADER - CHECKSUM) // ENTRY:
            raise ValueError(f"behaviour map announces {n} entries but has {size} bytes")
        if _read64(at + size - CHECKSUM) != xxh64(at, size - CHECKSUM, 0):
            raise ValueError("behaviour map is damaged: its checksum does not match")
        cdef BehaviourMap loaded = cls()
        loaded.executions = _read64(at + 16)
        loaded._reserve(n)
        at += HEADER
        for i in range(n):
            key = _read64(at)
            count = _read64(at + 8)
            if i and key <= last:
                raise ValueError(f"behaviour map is not sorted at entry {i}")
            if count == 0:
                raise ValueError(f"behaviour map counts entry {i} zero times")
            loaded._bump(key, count)
            last = key
            at += ENTRY
        return loaded

    def save(self, path):
        """Writes the map to `path` at once or not at all: readers never see half a file."""
        target = os.path.abspath(os.fspath(path))
        handle, name = tempfile.mkstemp(
            prefix=os.path.basename(target) + ".", dir=os.path.dirname(target))
        try:
            with open(handle, "wb") as stream:
                stream.write(self.to_bytes())
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise

    @classmethod
    def load(cls, path):
        """Reads what `save` wrote; a damaged file raises ValueError that names it."""
        with open(path, "rb") as stream:
            data = stream.read()
        try:
            return cls.from_bytes(data)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def __reduce__(self):
        return BehaviourMap.from_bytes, (self.to_bytes(),)
