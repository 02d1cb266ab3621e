/*
 * What the fuzz targets share.  A target is one file: libFuzzer calls its LLVMFuzzerTestOneInput()
 * with bytes that it makes up, and the target says by MUST() what has to hold for any bytes.
 *
 * The program's messages go to stderr, which tests/fuzz/run closes; what MUST() says does not.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ends the process unless the condition holds; libFuzzer then keeps the input. */
#define MUST(condition) fuzz_must((condition), #condition, __FILE__, __LINE__)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int fuzz_stderr = STDERR_FILENO;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_stderr = dup(STDERR_FILENO);
    return 0;
}

static inline void fuzz_must(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    dprintf(fuzz_stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

/* Returns a copy of exactly these bytes, so that a sanitizer sees what is read behind them. */
static inline char *fuzz_copy(const void *bytes, size_t len)
{
    char *copy = malloc(len ? len : 1);

    if (!copy)
        abort();
    if (len)
        memcpy(copy, bytes, len);
    return copy;
}

/* Returns the bytes as text, which ends at the first NUL; to be freed. */
static inline char *fuzz_text(const void *bytes, size_t len)
{
    char *text = malloc(len + 1);

    if (!text)
        abort();
    if (len)
        memcpy(text, bytes, len);
    text[len] = '\0';
    return text;
}

/* ---- numbers drawn from the input, one after the other; 0 when it is used up ---- */

struct fuzz_input {
    const uint8_t *bytes;
    size_t len;
};

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (input->len == 0)
        return 0;
    input->len--;
    return *input->bytes++;
}

/* Draws a number below bound, which is 256 at the most. */
static inline unsigned int fuzz_below(struct fuzz_input *input, unsigned int bound)
{
    return fuzz_byte(input) % bound;
}

static inline uint64_t fuzz_number(struct fuzz_input *input, int bytes)
{
    uint64_t number = 0;

    while (bytes-- > 0)
        number = number << 8 | fuzz_byte(input);
    return number;
}

/* Returns the next part of the input, of most bytes at the most, as text; to be freed. */
static inline char *fuzz_draw_text(struct fuzz_input *input, size_t most)
{
    size_t len = fuzz_below(input, (unsigned int)most + 1);
    char *text;

    len = len < input->len ? len : input->len;
    text = fuzz_text(input->bytes, len);
    input->bytes += len;
    input->len -= len;
    return text;
}

/* Returns true if all of the text is printable ASCII, and ends within size bytes. */
static inline bool fuzz_is_printable(const char *text, size_t size)
{
    size_t len = strnlen(text, size);

    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return len < size;
}

#endif
