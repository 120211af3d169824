"""What other extensions may use of the behaviour hash without going through Python."""

from libc.stdint cimport uint64_t


cdef uint64_t xxh64(const unsigned char* data, size_t size, uint64_t seed) noexcept nogil


cdef struct Slot:
    uint64_t key
    uint64_t count          # 0 marks a free slot: a stored behaviour was seen at least once


cdef class BehaviourMap:
    cdef Slot* _slots
    cdef size_t _mask       # capacity - 1, capacity a power of two
    cdef size_t _used
    cdef uint64_t _total
    cdef public uint64_t executions

    cdef Slot* _find(self, uint64_t key) noexcept nogil
    cdef int _grow(self, size_t capacity) except -1
    cdef int _reserve(self, size_t extra) except -1
    cdef uint64_t _bump(self, uint64_t key, uint64_t by) noexcept nogil
    cdef Slot* _sorted(self) except NULL
