"""Which lines of the compiler's own source ran: ever, in this run, and since the last export.

The key insight: lines are kept twice, as one byte per line for "was it seen?" and as a log in
order of discovery for "what is new?". The log makes both questions that a campaign asks - what
did *this* run add, and what should the parent process hear - a slice, so neither ever scans the
tens of thousands of lines that are already known.

Lines are named by (file, line), not by code object: code objects die, are made again and share
lines, and none of that may make a line look new. A driver that traces nothing itself uses a
`LineStore` alone to add up what its workers send.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from rondo._native.behaviour cimport xxh64

import os
import struct
from array import array

from rondo._native.behaviour import hash64

cdef enum:
    LONGEST_FILE = 4000000      # lines; a larger number is a forged line table, not a source file
    OUTSIDE_KEPT = 20000        # names; generated code has no end of names, memory does

MAGIC = b"RNDLINES"
VERSION = 1
_HEAD = struct.Struct("<8sQQ")      # magic, version, number of files
_FILE = struct.Struct("<II")        # bytes in the name, number of lines
_TAIL = struct.Struct("<Q")         # XXH64 of everything before


cdef int log_append(Log* log, uint64_t entry) noexcept nogil:
    cdef size_t capacity
    cdef void* grown
    if log.used == log.capacity:
        capacity = 1024 if log.capacity == 0 else 2 * log.capacity
        grown = realloc(log.entries, capacity * sizeof(uint64_t))
        if grown == NULL:
            return 0
        log.entries = <uint64_t*> grown
        log.capacity = capacity
    log.entries[log.used] = entry
    log.used += 1
    return 1


cdef int file_grow(FileLines* file, uint32_t line) noexcept nogil:
    """Room for `line`, doubling so that a file of n lines is grown log n times."""
    cdef uint32_t size = 256 if file.size == 0 else file.size
    cdef void* grown
    if line >= LONGEST_FILE:
        return 0
    while size <= line:
        size *= 2
    grown = realloc(file.flags, size)
    if grown == NULL:
        return 0
    file.flags = <uint8_t*> grown
    memset(file.flags + file.size, 0, size - file.size)
    file.size = size
    return 1


def _with_separator(path):
    return path if path.endswith(os.sep) else path + os.sep


cdef class LineStore:
    """Lines seen in some source trees; see `LineTracer` for one that fills itself.

    `trees` are paths of folders or single files. A file belongs to the longest tree that holds
    it, so that figures per tree add up to the total even when one tree lies within another.
    """

    def __cinit__(self, *args, **kwargs):
        memset(&self.lines_, 0, sizeof(Lines))

    def __init__(self, trees):
        if isinstance(trees, (str, bytes)):
            raise TypeError("trees is a sequence of paths, not one path")
        self.trees = tuple(sorted({os.path.realpath(os.fspath(tree)) for tree in trees}))
        self._prefixes = tuple(_with_separator(tree) for tree in self.trees)
        self._names = []
        self._tree_of = []
        self._salts = []
        self._number_of = {}
        self._inside = {}
        self._outside = set()
        self._real_folder = {}

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.lines_.n_files):
            free(self.lines_.files[i].flags)
        free(self.lines_.files)
        free(self.lines_.found.entries)
        free(self.lines_.run.entries)

    # ---------------------------------------------------------------------------------- files

    cdef int add_file(self, str name) except -1:
        cdef uint32_t number = self.lines_.n_files
        cdef uint32_t capacity
        cdef void* grown
        cdef Py_ssize_t i
        if number == self.lines_.capacity:
            capacity = 64 if number == 0 else 2 * number
            grown = realloc(self.lines_.files, capacity * sizeof(FileLines))
            if grown == NULL:
                raise MemoryError("no memory for another traced file")
            self.lines_.files = <FileLines*> grown
            self.lines_.capacity = capacity
        memset(&self.lines_.files[number], 0, sizeof(FileLines))
        tree = None
        for i in range(len(self.trees)):        # sorted: the last that matches is the longest
            if name == self.trees[i] or name.startswith(self._prefixes[i]):
                tree = i
        relative = name if tree is None else os.path.relpath(
            name, os.path.dirname(self.trees[tree]))
        self._names.append(name)
        self._tree_of.append(tree)
        self._salts.append(hash64(relative))
        self._number_of[name] = number
        self.lines_.n_files += 1
        return number

    cdef int number(self, str filename) except -2:
        """The file number of a code object's file name, or -1 when it lies in no tree."""
        known = self._inside.get(filename)
        if known is not None:
            return known
        if filename in self._outside:
            return -1
        if not filename.startswith("<"):        # not "<string>", "<frozen os>", "<eval_with_key>"
            folder, base = os.path.split(os.path.abspath(filename))
            real = self._real_folder.get(folder)
            if real is None:
                real = self._real_folder[folder] = os.path.realpath(folder)
            name = os.path.join(real, base)
            if name in self.trees or name.startswith(self._prefixes):
                known = self._number_of.get(name)
                if known is None:
                    known = self.add_file(name)
                self._inside[filename] = known
                return known
        if len(self._outside) >= OUTSIDE_KEPT:
            self._outside.clear()
            self._real_folder.clear()
        self._outside.add(filename)
        return -1

    def covers(self, filename):
        """Whether lines of this file are kept."""
        return self.number(filename) >= 0

    # ----------------------------------------------------------------------------------- runs

    def begin_run(self, *, complete=False):
        """Starts one execution. With `complete`, every line it runs is noted, not only new ones;
        `run_lines` then gives them."""
        cdef Lines* lines = &self.lines_
        cdef size_t i
        for i in range(lines.run.used):
            lines.files[lines.run.entries[i] >> 32].flags[<uint32_t> lines.run.entries[i]] &= SEEN
        lines.run.used = 0
        lines.run_start = lines.found.used
        lines.complete = complete

    def end_run(self):
        """The (file, line) pairs that no earlier run had, in order of discovery.

        Costs what it returns. A run ends when the next begins, so calling it late, twice or never
        does no harm.
        """
        cdef Lines* lines = &self.lines_
        cdef size_t i
        return [
            (self._names[lines.found.entries[i] >> 32], <uint32_t> lines.found.entries[i])
            for i in range(lines.run_start, lines.found.used)
        ]

    def run_hashes(self):
        """The lines that this run added, as stable 64-bit hashes: features for libFuzzer.

        A line's hash is XXH64 of its number salted with that of its file's path from the tree's
        parent, so it is equal on machines that keep their packages elsewhere.
        """
        cdef Lines* lines = &self.lines_
        cdef unsigned char raw[4]
        cdef uint32_t line
        cdef size_t i
        out = array("Q")
        for i in range(lines.run_start, lines.found.used):
            line = <uint32_t> lines.found.entries[i]
            raw[0] = line & 255
            raw[1] = (line >> 8) & 255
            raw[2] = (line >> 16) & 255
            raw[3] = line >> 24
            out.append(xxh64(raw, 4, self._salts[lines.found.entries[i] >> 32]))
        return out

    def run_lines(self):
        """Every line of the current or last run, by file; only for a run begun as complete."""
        if not self.lines_.complete:
            raise ValueError("run_lines needs begin_run(complete=True)")
        return self.grouped(&self.lines_.run, 0)

    # --------------------------------------------------------------------------------- totals

    cdef dict grouped(self, Log* log, size_t start):
        cdef size_t i
        by_number = {}
        for i in range(start, log.used):
            by_number.setdefault(log.entries[i] >> 32, []).append(<uint32_t> log.entries[i])
        return {
            name: sorted(by_number[number])
            for name, number in sorted((self._names[n], n) for n in by_number)
        }

    def lines(self):
        """Every line ever seen: sorted lists by file name, files in order."""
        return self.grouped(&self.lines_.found, 0)

    def counts(self):
        """Files and lines seen, lines added by the current run, lines lost to lack of memory."""
        cdef Lines* lines = &self.lines_
        cdef size_t i
        return {
            "files": len({lines.found.entries[i] >> 32 for i in range(lines.found.used)}),
            "lines": lines.found.used,
            "run": lines.found.used - lines.run_start,
            "dropped": lines.dropped,
        }

    def tree_counts(self):
        """Lines seen in each tree; lines of files in no tree, which only an import brings, under
        the empty name."""
        cdef Lines* lines = &self.lines_
        cdef size_t i
        counted = dict.fromkeys(self.trees, 0)
        for i in range(lines.found.used):
            tree = self._tree_of[lines.found.entries[i] >> 32]
            name = "" if tree is None else self.trees[tree]
            counted[name] = counted.get(name, 0) + 1
        return counted

    @property
    def line_count(self):
        """How many lines were ever seen. Not `len`, which would make an empty tracer false."""
        return self.lines_.found.used

    # ---------------------------------------------------------------- from process to process

    def export_new(self):
        """The lines found since the last export, for `import_lines` in another process.

        A forked child starts with its parent's position, so what it exports is what it found
        itself when the parent had exported before forking; otherwise more, never less. Lines that
        were imported are exported again: a worker's lines pass through its server to the driver.
        """
        lines = self.grouped(&self.lines_.found, self.lines_.exported)
        parts = [_HEAD.pack(MAGIC, VERSION, len(lines))]
        for name, numbers in lines.items():
            raw = os.fsencode(name)
            parts += [_FILE.pack(len(raw), len(numbers)), raw,
                      struct.pack(f"<{len(numbers)}I", *numbers)]
        body = b"".join(parts)
        self.lines_.exported = self.lines_.found.used
        return body + _TAIL.pack(hash64(body))

    def import_lines(self, data):
        """Adds what another process exported; returns how many lines were new to this one.

        Damaged bytes raise ValueError and add nothing.
        """
        return self.add_lines(_parsed(bytes(data)))

    def add_lines(self, lines):
        """Adds pairs of a file and its line numbers; returns how many lines were new."""
        cdef int number
        cdef size_t before = self.lines_.found.used
        for name, numbers in lines:
            number = self._number_of.get(name, -1)
            if number < 0:
                number = self.add_file(name)
            for line in numbers:
                mark(&self.lines_, number, line)
        return self.lines_.found.used - before


def _parsed(raw):
    if len(raw) < _HEAD.size + _TAIL.size:
        raise ValueError(f"exported lines are cut short: {len(raw)} bytes")
    body = raw[:-_TAIL.size]
    magic, version, n_files = _HEAD.unpack_from(body)
    if magic != MAGIC:
        raise ValueError("not exported lines: they do not start with RNDLINES")
    if version != VERSION:
        raise ValueError(f"exported lines have version {version}, this Rondo reads {VERSION}")
    if hash64(body) != _TAIL.unpack(raw[-_TAIL.size:])[0]:
        raise ValueError("exported lines are damaged: their checksum does not match")
    at, found = _HEAD.size, []
    try:
        for _ in range(n_files):
            length, n_lines = _FILE.unpack_from(body, at)
            at += _FILE.size
            name = os.fsdecode(body[at:at + length])
            found.append((name, struct.unpack_from(f"<{n_lines}I", body, at + length)))
            at += length + 4 * n_lines
    except struct.error as error:
        raise ValueError(f"exported lines end within a file: {error}") from None
    if at != len(body):
        raise ValueError(f"exported lines have {len(body) - at} bytes too many")
    return found
