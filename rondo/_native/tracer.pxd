"""The tracer's C face."""

from libc.stdint cimport uint32_t, uint64_t

from rondo._native.lines cimport LineStore, Lines


cdef struct Record:
    # What the tracer knows of one code object of interest; lives in the code object's co_extra
    # slot, so it dies with the code and a new code object at the same address starts unknown.
    uint64_t serial         # which tracer wrote it
    uint64_t epoch          # 3.11: the run that `bits` speak of
    uint32_t file
    uint32_t first          # the lowest line that can be reported
    uint32_t span           # how many lines `bits` covers
    uint32_t total          # distinct lines that can be reported
    uint32_t remaining      # of those, not seen in this epoch
    bint fired              # 3.12+: some of its lines are disabled
    void* code              # borrowed: the record is freed by the code's own deallocation
    Record* previous
    Record* next
    uint64_t bits[1]


cdef struct Hot:
    # All that a callback reads. One per process, since one tracer at most is active.
    Lines* lines
    uint64_t serial
    uint64_t epoch
    uint64_t events         # how often a callback ran: what tracing costs, free of any clock
    void* tag               # the co_extra value that means "not interesting to this tracer"
    void* tracer            # borrowed: the active tracer is kept alive by `_active`


cdef class LineTracer(LineStore):
    cdef uint64_t _serial
    cdef uint64_t _epoch
    cdef int _displaced

    cdef int _start_settrace(self) except -1
    cdef int _stop_settrace(self) except -1
    cdef int _start_monitoring(self) except -1
    cdef int _stop_monitoring(self) except -1
