/* The one place where the interpreters differ.
 *
 * Python 3.11 is reached through PyEval_SetTrace, 3.12 and later through sys.monitoring. What the
 * tracer needs below the public API is little, and all of it is here:
 *
 * 1. per-code-object storage (PEP 523's co_extra), renamed in 3.12;
 * 2. on 3.11, a frame's code and its f_trace_lines switch. The attribute protocol would cost more
 *    than the rest of the callback, and 3.11 receives security fixes only: its layout is frozen;
 * 3. on 3.11, installing a trace function in threads other than the calling one.
 */
#ifndef RONDO_INTERPRETER_H
#define RONDO_INTERPRETER_H

#include <Python.h>
#include <frameobject.h>
#include <stdint.h>

#if PY_VERSION_HEX >= 0x030C0000
#define RONDO_MONITORING 1
#define rondo_request_extra PyUnstable_Eval_RequestCodeExtraIndex
#define rondo_set_extra PyUnstable_Code_SetExtra
#define rondo_get_extra_raw PyUnstable_Code_GetExtra
#else
#define RONDO_MONITORING 0
#define rondo_request_extra _PyEval_RequestCodeExtraIndex
#define rondo_set_extra _PyCode_SetExtra
#define rondo_get_extra_raw _PyCode_GetExtra
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#else
#include <internal/pycore_frame.h>
#endif
#endif

static inline void *rondo_get_extra(PyObject *code, Py_ssize_t index)
{
    void *extra = NULL;
    rondo_get_extra_raw(code, index, &extra);
    return extra;
}

#if RONDO_MONITORING

static inline int rondo_first_traceable(PyObject *code) { (void)code; return 0; }

/* Never called: sys.monitoring hands over code objects and line numbers itself. */
static inline PyObject *rondo_frame_code(PyFrameObject *frame) { (void)frame; return NULL; }
static inline int rondo_frame_line(PyFrameObject *frame) { return PyFrame_GetLineNumber(frame); }
static inline void rondo_frame_lines(PyFrameObject *frame, int on) { (void)frame; (void)on; }

static inline int rondo_trace_threads(Py_tracefunc ours, PyObject *self, int on)
{
    PyEval_SetTrace(on ? ours : NULL, on ? self : NULL);
    return 0;
}

#else

/* The byte offset of the first RESUME; what comes before it (making cells) runs untraced. */
static inline int rondo_first_traceable(PyObject *code)
{
    return 2 * ((PyCodeObject *)code)->_co_firsttraceable;
}

/* Borrowed. The frame runs, so its code lives. */
static inline PyObject *rondo_frame_code(PyFrameObject *frame)
{
    return (PyObject *)frame->f_frame->f_code;
}

/* The interpreter sets f_lineno before it calls a trace function, so no table is decoded here. */
static inline int rondo_frame_line(PyFrameObject *frame) { return frame->f_lineno; }

static inline void rondo_frame_lines(PyFrameObject *frame, int on)
{
    frame->f_trace_lines = (char)on;
}

/* Installs `ours` in every thread that nobody traces, or takes it out of all that it is in.
 *
 * Returns how many threads somebody else traces, or -1 with an exception set. Threads that
 * sys.settrace(self) was called in (threading does so for new ones) count as ours.
 */
static inline int rondo_trace_threads(Py_tracefunc ours, PyObject *self, int on)
{
    PyInterpreterState *interpreter = PyThreadState_GetInterpreter(PyThreadState_Get());
    PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter);
    int others = 0;
    for (; thread != NULL; thread = PyThreadState_Next(thread)) {
        int mine = thread->c_tracefunc == ours || (self && thread->c_traceobj == self);
        if (on ? thread->c_tracefunc == ours : !mine) {
            others += !on && thread->c_tracefunc != NULL;
            continue;
        }
        if (on && thread->c_tracefunc != NULL && !mine) {
            others++;
            continue;
        }
        if (_PyEval_SetTrace(thread, on ? ours : NULL, on ? self : NULL) < 0) {
            return -1;
        }
    }
    return others;
}

#endif

#endif
