"""The line store's C face: what a callback may touch, none of it a Python object."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef enum:
    SEEN = 1                # by any run
    IN_RUN = 2              # by the current complete run


cdef struct FileLines:
    uint8_t* flags          # one byte per line of the file
    uint32_t size


cdef struct Log:
    uint64_t* entries       # file << 32 | line, in order of discovery
    size_t used
    size_t capacity


cdef struct Lines:
    FileLines* files
    uint32_t n_files
    uint32_t capacity
    Log found               # every line ever seen, once
    Log run                 # every line of the current complete run, once
    size_t run_start        # found.used when the current run began
    size_t exported         # found.used at the last export
    uint64_t dropped        # lines lost because memory ran out
    bint complete


cdef int log_append(Log* log, uint64_t entry) noexcept nogil
cdef int file_grow(FileLines* file, uint32_t line) noexcept nogil


cdef inline int mark(Lines* lines, uint32_t file, uint32_t line) noexcept nogil:
    """Notes one executed line; returns whether no run had executed it before.

    No allocation except when a log or a file's map grows, no Python object, and no error: a line
    that finds no memory is counted in `dropped`, because a trace callback has nobody to tell.
    """
    cdef FileLines* at = &lines.files[file]
    cdef uint64_t entry = <uint64_t> file << 32 | line
    cdef uint8_t flags
    if line >= at.size and not file_grow(at, line):
        lines.dropped += 1
        return 0
    flags = at.flags[line]
    if lines.complete and not flags & IN_RUN:
        if log_append(&lines.run, entry):
            at.flags[line] |= IN_RUN
        else:
            lines.dropped += 1
    if flags & SEEN:
        return 0
    if not log_append(&lines.found, entry):
        lines.dropped += 1
        return 0
    at.flags[line] |= SEEN
    return 1


cdef class LineStore:
    cdef Lines lines_
    cdef readonly tuple trees
    cdef list _names            # canonical file name, by file number
    cdef list _tree_of          # index into `trees`, or None, by file number
    cdef list _salts            # hash of the tree-relative name, by file number
    cdef dict _number_of        # canonical name to file number
    cdef dict _inside           # co_filename of an interesting file to file number
    cdef set _outside           # other co_filenames, so that each is judged once
    cdef dict _real_folder
    cdef tuple _prefixes

    cdef int number(self, str filename) except -2
    cdef int add_file(self, str name) except -1
    cdef dict grouped(self, Log* log, size_t start)
