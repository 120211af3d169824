"""The line tracer: which lines of the compiler's own source does each execution reach?

Two mechanisms, one per interpreter generation, behind one class:

* **Python 3.11: PyEval_SetTrace** with a C callback. The interpreter pays for dispatching trace
  events whatever the callback does, so all that can be done is to answer quickly: one look into
  the code object's co_extra slot, one bit test. Frames of uninteresting code, and of code whose
  every line has been seen, have their line events switched off for as long as they run.
* **Python 3.12+: sys.monitoring** with C callbacks. A PY_START event, which each code object
  fires once, decides whether the code is interesting; only then does it get LINE events, and each
  of those is disabled once it has fired. In the steady state nothing is left to pay. A global
  LINE event would be simpler, but it instruments every line of the framework, of sympy and of
  the standard library, most of which nobody asks for.

Why C callbacks only: Dynamo on 3.11 compiles a Python trace function as if it were the program
under test, which changes what is being observed. No bytecode is rewritten, for the same reason.

Why co_extra and not a table by address: the slot dies with its code object, so a new code object
at a reused address starts unknown, without a weak reference or a lookup.
"""

from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from rondo._native.lines cimport LineStore, mark

import atexit
import sys
import threading

from rondo._native import TracerBusyError
from rondo._native.others import describe_other_tracer

cdef extern from "interpreter.h":
    enum: RONDO_MONITORING
    ctypedef struct PyFrameObject:
        pass
    ctypedef int (*Py_tracefunc)(PyObject*, PyFrameObject*, int, PyObject*) noexcept
    enum: PyTrace_CALL
    enum: PyTrace_LINE
    void PyEval_SetTrace(Py_tracefunc function, PyObject* argument)
    Py_ssize_t rondo_request_extra(void (*release)(void*) noexcept)
    int rondo_set_extra(PyObject* code, Py_ssize_t index, void* extra) except -1
    void* rondo_get_extra(PyObject* code, Py_ssize_t index) nogil
    int rondo_first_traceable(PyObject* code)
    PyObject* rondo_frame_code(PyFrameObject* frame) nogil
    int rondo_frame_line(PyFrameObject* frame) nogil
    void rondo_frame_lines(PyFrameObject* frame, int on) nogil
    int rondo_trace_threads(Py_tracefunc ours, PyObject* tracer, int on) except -1

cdef extern from "Python.h":
    enum: METH_FASTCALL
    ctypedef struct PyMethodDef:
        const char* ml_name
        void* ml_meth
        int ml_flags
        const char* ml_doc
    object PyCFunction_New(PyMethodDef* method, PyObject* bound)
    long PyLong_AsLong(PyObject* number)

MONITORING = bool(RONDO_MONITORING)
MECHANISM = "sys.monitoring" if RONDO_MONITORING else "PyEval_SetTrace"

cdef Hot hot
memset(&hot, 0, sizeof(Hot))
cdef Record ring                    # all records of the tracer that was started last
ring.previous = ring.next = &ring
cdef uint64_t last_serial = 0       # of the tracer created last
cdef uint64_t started_serial = 0    # of the tracer started last
cdef Py_ssize_t slot = -1           # our index into every code object's co_extra
cdef object _active = None
cdef int tool = -1                  # our sys.monitoring tool, while active


# ---------------------------------------------------------------------------------------- records

cdef inline bint _is_record(void* extra) noexcept nogil:
    """A co_extra value is NULL, a record, or an odd number: "uninteresting to tracer n"."""
    return extra != NULL and not <uintptr_t> extra & 1


cdef inline void _unlink(Record* record) noexcept nogil:
    record.previous.next = record.next
    record.next.previous = record.previous
    record.previous = record.next = record


cdef void _release(void* extra) noexcept:
    """The code object dies, and its record with it."""
    if _is_record(extra):
        _unlink(<Record*> extra)
        free(extra)


cdef void _empty_ring() noexcept nogil:
    while ring.next != &ring:
        _unlink(ring.next)


def _reportable_lines(code):
    """The lines that a trace function can hear of: those of instructions after the first RESUME.

    RESUME itself carries the `def` line and fires a call event, not a line event; it is two bytes
    long. Lines that turn out to be unreachable only cost: their code is never seen in full.
    """
    resumed = rondo_first_traceable(<PyObject*> code) + 2
    return {line for start, end, line in code.co_lines() if line and end > resumed}


cdef Record* _make_record(LineTracer self, object code, int file) except NULL:
    """A record for one code object of interest, in the ring and in the code's slot."""
    cdef size_t words = 1
    cdef Record* record
    lines = () if RONDO_MONITORING else _reportable_lines(code)
    if lines:
        words = (max(lines) - min(lines)) // 64 + 1
    record = <Record*> calloc(1, sizeof(Record) + (words - 1) * sizeof(uint64_t))
    if record == NULL:
        raise MemoryError("no memory for a traced code object")
    record.serial = self._serial
    record.file = file
    record.code = <void*> code
    record.previous = record.next = record
    if lines:
        record.first = min(lines)
        record.span = max(lines) - record.first + 1
        record.total = record.remaining = len(lines)
    try:
        rondo_set_extra(<PyObject*> code, slot, record)     # releases an earlier tracer's
    except BaseException:
        free(record)
        raise
    record.previous = &ring
    record.next = ring.next
    ring.next.previous = record
    ring.next = record
    return record


cdef Record* _first_sight(PyObject* raw) noexcept:
    """Judges a code object that this tracer has not met: its record, or NULL when uninteresting.

    Once per code object. A trace callback has nobody to raise to, so a failure (only memory can
    fail) is counted as a dropped line and the code met again at its next event.
    """
    cdef LineTracer self = <LineTracer> hot.tracer
    cdef object code = <object> raw
    cdef int file
    try:
        file = self.number(code.co_filename)
        if file >= 0:
            return _make_record(self, code, file)
        if not RONDO_MONITORING:        # there, PY_START is disabled instead: nothing to remember
            rondo_set_extra(raw, slot, hot.tag)         # releases an earlier tracer's record
    except BaseException:
        hot.lines.dropped += 1
    return NULL


cdef inline Record* _known(PyObject* code) noexcept:
    """The record of a code object, or NULL when it is uninteresting."""
    cdef void* extra = rondo_get_extra(code, slot)
    if extra == hot.tag:
        return NULL
    if _is_record(extra) and (<Record*> extra).serial == hot.serial:
        return <Record*> extra
    return _first_sight(code)


# ------------------------------------------------------------------------------------ Python 3.11

cdef inline void _forget(Record* record) noexcept nogil:
    """A complete run has begun since this code last ran: every line counts as unseen again."""
    memset(record.bits, 0, ((record.span + 63) // 64) * sizeof(uint64_t))
    record.remaining = record.total
    record.epoch = hot.epoch


cdef int _on_event(PyObject* tracer, PyFrameObject* frame, int what, PyObject* arg) noexcept:
    """The trace function: sees a call of every frame, and the lines of interesting ones."""
    cdef Record* record
    cdef uint32_t offset
    cdef uint64_t bit
    hot.events += 1
    if what != PyTrace_LINE and what != PyTrace_CALL:
        return 0
    if hot.lines == NULL:
        return 0
    record = _known(rondo_frame_code(frame))
    if record == NULL:
        rondo_frame_lines(frame, 0)
        return 0
    if record.epoch != hot.epoch:
        _forget(record)
    if what == PyTrace_CALL:
        rondo_frame_lines(frame, record.remaining != 0)
        return 0
    offset = <uint32_t> rondo_frame_line(frame) - record.first
    if offset >= record.span:           # a line that the line table does not announce
        mark(hot.lines, record.file, rondo_frame_line(frame))
        return 0
    bit = <uint64_t> 1 << (offset & 63)
    if record.bits[offset >> 6] & bit:
        return 0
    record.bits[offset >> 6] |= bit
    if record.remaining:
        record.remaining -= 1
        if record.remaining == 0:
            rondo_frame_lines(frame, 0)
    mark(hot.lines, record.file, rondo_frame_line(frame))
    return 0


cdef int _on_nothing(PyObject* tracer, PyFrameObject* frame, int what, PyObject* arg) noexcept:
    return 0


# ----------------------------------------------------------------------------------- Python 3.12+

cdef PyObject* disable = NULL           # sys.monitoring.DISABLE
cdef object set_local_events = None     # sys.monitoring.set_local_events
cdef object line_events = None          # sys.monitoring.events.LINE


cdef PyObject* _on_start(PyObject* self, PyObject** args, Py_ssize_t n) noexcept:
    """Each code object's first start or resumption: give it line events if it is interesting."""
    cdef Record* record
    hot.events += 1
    if hot.lines != NULL:
        record = _known(args[0])
        if record != NULL:
            try:
                set_local_events(tool, <object> args[0], line_events)
            except BaseException:
                hot.lines.dropped += 1
    Py_INCREF(<object> disable)
    return disable


cdef PyObject* _on_line(PyObject* self, PyObject** args, Py_ssize_t n) noexcept:
    """A line runs for the first time since it was armed. No allocation but for a growing log."""
    cdef void* extra = rondo_get_extra(args[0], slot)
    hot.events += 1
    if hot.lines != NULL and _is_record(extra) and (<Record*> extra).serial == hot.serial:
        (<Record*> extra).fired = True
        mark(hot.lines, (<Record*> extra).file, <uint32_t> PyLong_AsLong(args[1]))
    Py_INCREF(<object> disable)
    return disable


cdef PyMethodDef start_method = PyMethodDef(
    "rondo_on_start", <void*> _on_start, METH_FASTCALL, NULL)
cdef PyMethodDef line_method = PyMethodDef(
    "rondo_on_line", <void*> _on_line, METH_FASTCALL, NULL)


cdef int _prepare() except -1:
    """What both mechanisms need once per process."""
    global slot, disable, set_local_events, line_events
    if slot < 0:
        slot = rondo_request_extra(_release)
        if slot < 0:
            raise RuntimeError("the interpreter has no free co_extra slot for the line tracer")
        atexit.register(_stop_at_exit)
        if RONDO_MONITORING:
            disable = <PyObject*> sys.monitoring.DISABLE
            set_local_events = sys.monitoring.set_local_events
            line_events = sys.monitoring.events.LINE
    return 0


def _stop_at_exit():
    """Callbacks must not outlive the modules that they use."""
    if _active is not None:
        _active.stop()


def _running_code():
    """Code objects on all threads' stacks: they were started before we were."""
    found = set()
    for frame in sys._current_frames().values():
        while frame is not None:
            found.add(frame.f_code)
            frame = frame.f_back
    return found


def other_tracer():
    """Who else traces, in words; None when nobody does."""
    return describe_other_tracer(_active)


# ------------------------------------------------------------------------------------- the tracer

cdef class LineTracer(LineStore):
    """Notes the lines that run in some source trees. One is active per process at most.

    >>> tracer = LineTracer(["/path/to/torch/_dynamo"])             # doctest: +SKIP
    >>> tracer.start(); tracer.begin_run(); compiled(x); tracer.end_run()       # doctest: +SKIP

    `start` and `stop` may be called twice, in any order, and in a forked child, which inherits an
    active tracer with all it has seen.
    """

    def __init__(self, trees):
        global last_serial
        LineStore.__init__(self, trees)
        last_serial += 1
        self._serial = last_serial

    def start(self):
        """Begins to trace: every thread on 3.12+; on 3.11 those that exist and those that
        `threading` makes from now on.

        Raises TracerBusyError when a debugger, coverage.py or another LineTracer already traces.
        """
        global _active, started_serial
        if _active is self:
            self.cover_threads()
            return
        if _active is not None:
            raise TracerBusyError("another LineTracer is active in this process: stop it first")
        reason = other_tracer()
        if reason is not None:
            raise TracerBusyError(
                f"{reason}; lines are not traced beside it. Run without it, or without lines")
        _prepare()
        hot.serial = self._serial
        hot.epoch = self._epoch
        hot.tag = <void*> <uintptr_t> (self._serial << 1 | 1)
        hot.tracer = <void*> self
        if started_serial != self._serial:
            _empty_ring()
        _active = self
        hot.lines = &self.lines_
        try:
            if RONDO_MONITORING:
                self._start_monitoring()
            else:
                self._start_settrace()
        except BaseException:
            hot.lines = NULL
            _active = None
            raise
        started_serial = self._serial

    def stop(self):
        """Ends tracing; what was seen is kept, and `start` goes on from there."""
        global _active
        if _active is not self:
            return
        hot.lines = NULL
        if RONDO_MONITORING:
            self._stop_monitoring()
        else:
            self._stop_settrace()
        _active = None

    @property
    def active(self):
        """Whether this tracer is started."""
        return _active is self

    def begin_run(self, *, complete=False):
        """Starts one execution; see `LineStore.begin_run`.

        With `complete`, lines already seen fire again: on 3.12+ by arming anew the code objects
        that fired, and no others. `sys.monitoring.restart_events` would do it in one call, but it
        makes every code object in the process pay again at its next start.
        """
        LineStore.begin_run(self, complete=complete)
        self._epoch += complete
        if _active is not self:
            return
        hot.epoch = self._epoch
        if RONDO_MONITORING:
            if complete:
                self.rearm()
        else:
            self.cover_threads()

    def cover_threads(self):
        """Traces threads that came to exist without `threading` (a C++ pool), on 3.11.

        `begin_run` does so too. Returns how many threads somebody else traces and we leave alone.
        """
        if not RONDO_MONITORING and _active is self:
            self._displaced = rondo_trace_threads(_on_event, <PyObject*> self, 1)
        return self._displaced

    def rearm(self):
        """Lets every line that has fired fire once more (3.12+): off and on again, per code."""
        codes = _codes(fired_only=True)
        _set_line_events(codes, 0)
        _set_line_events(codes, line_events)

    def counts(self):
        """As `LineStore.counts`, and live code objects of interest, threads that others trace,
        and how often a callback ran in this process."""
        counted = LineStore.counts(self)
        counted["code_objects"] = len(_codes()) if started_serial == self._serial else 0
        counted["displaced_threads"] = self._displaced
        counted["events"] = hot.events
        return counted

    def __call__(self, frame, event, arg):
        """Python's own way to install a trace function ends here, and moves on to the C way.

        `threading.settrace(tracer)` makes each new thread call `sys.settrace(tracer)`; so does
        code that puts back what `sys.gettrace` gave it. The first event then lands here and
        PyEval_SetTrace takes over, before any line of the thread's target ran. This method is C:
        a Python function in its place would be compiled by Dynamo.
        """
        if _active is not self or RONDO_MONITORING:
            PyEval_SetTrace(NULL, NULL)
            return
        PyEval_SetTrace(<Py_tracefunc> _on_event, <PyObject*> self)
        if event == "call":
            _on_event(NULL, <PyFrameObject*> <PyObject*> frame, PyTrace_CALL, NULL)

    # ------------------------------------------------------------------------------ mechanisms

    cdef int _start_settrace(self) except -1:
        self._displaced = rondo_trace_threads(_on_event, <PyObject*> self, 1)
        threading.settrace(self)
        return 0

    cdef int _stop_settrace(self) except -1:
        rondo_trace_threads(_on_event, <PyObject*> self, 0)
        if threading.gettrace() is self:
            threading.settrace(None)
        return 0

    cdef int _start_monitoring(self) except -1:
        global tool
        monitoring, events = sys.monitoring, sys.monitoring.events
        free_tools = [n for n in (3, 4) if monitoring.get_tool(n) is None]
        if not free_tools:
            raise TracerBusyError("sys.monitoring has no free tool number: 3 and 4 are taken")
        monitoring.use_tool_id(free_tools[0], "rondo")
        tool = free_tools[0]
        on_start = PyCFunction_New(&start_method, NULL)
        for event in (events.PY_START, events.PY_RESUME):
            monitoring.register_callback(tool, event, on_start)
        monitoring.register_callback(tool, events.LINE, PyCFunction_New(&line_method, NULL))
        if started_serial == self._serial:
            _set_line_events(_codes(), line_events)
        elif started_serial != 0:
            # Code that an earlier tracer judged has its start events disabled: ask it again.
            monitoring.restart_events()
        for code in _running_code():
            if _known(<PyObject*> code) != NULL:
                set_local_events(tool, code, line_events)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME)
        return 0

    cdef int _stop_monitoring(self) except -1:
        global tool
        monitoring, events = sys.monitoring, sys.monitoring.events
        monitoring.set_events(tool, 0)
        _set_line_events(_codes(), 0)
        for event in (events.PY_START, events.PY_RESUME, events.LINE):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
        tool = -1
        return 0


def _codes(*, fired_only=False):
    """The live code objects of interest; as a list, so that none dies while it is walked."""
    cdef Record* record = ring.next
    codes = []
    while record != &ring:
        if record.fired or not fired_only:
            codes.append(<object> <PyObject*> record.code)
            record.fired = record.fired and not fired_only
        record = record.next
    return codes


def _set_line_events(codes, events):
    for code in codes:
        set_local_events(tool, code, events)


class NullTracer:
    """A C trace function that returns at once: the floor that no PyEval_SetTrace tracer beats."""

    def start(self):
        """Traces the calling thread, doing nothing."""
        PyEval_SetTrace(<Py_tracefunc> _on_nothing, NULL)

    def stop(self):
        """Ends it."""
        PyEval_SetTrace(NULL, NULL)
