/*
 * Every exit status of zkflock and what it means.  Between 0 and 255 any other status is the
 * command's own.  The list feeds --help; a test holds the manual and the README equal to it.
 */
#ifndef ZKFLOCK_EXITCODE_H
#define ZKFLOCK_EXITCODE_H

#define EXITCODES(X)                                                                               \
    X(EXITCODE_BUSY, 1, "busy: -n was given, or the time of -w or --deadline ran out (see -E)")    \
    X(EXITCODE_USAGE, 64, "wrong usage")                                                           \
    X(EXITCODE_UNREACHABLE, 69, "no answer from the ensemble, or from an outer zkflock")           \
    X(EXITCODE_INTERNAL, 70, "internal fault")                                                     \
    X(EXITCODE_OSERR, 71, "operating system error")                                                \
    X(EXITCODE_LOST, 75, "the lock was lost; the command was ended, or not started")               \
    X(EXITCODE_NOPERM, 77, "not permitted")                                                        \
    X(EXITCODE_CONFIG, 78, "configuration error")                                                  \
    X(EXITCODE_TIMEOUT, 124, "--max-runtime or --deadline ran out; the command was ended")         \
    X(EXITCODE_NOEXEC, 126, "command found but not executable")                                    \
    X(EXITCODE_NOTFOUND, 127, "command not found")                                                 \
    X(EXITCODE_SIGNAL, 128, "plus N: ended by signal N, the command or, before it ran, zkflock")

enum exitcode {
#define X(name, value, meaning) name = (value),
    EXITCODES(X)
#undef X
};

#endif
