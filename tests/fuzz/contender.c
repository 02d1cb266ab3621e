/*
 * What a contender has in its znode.  Whatever bytes are there: all texts that are told are
 * printable, numbers are in their ranges, and only zkflock's own data says that the lock is held.
 * What zkflock writes is read as it was written.  A holder that is asked, by whatever text
 * revocation_encode() makes of the bytes, sees that it is asked.
 */
#include "lock/contender.h"

#include "fuzz.h"
#include "lock/revocation.h"

#define MUST_PRINT(member) MUST(fuzz_is_printable((member), sizeof(member)))

static void check_told(const char *data, size_t len, int64_t ctime, int64_t mtime)
{
    struct contender told;
    char who[CONTENDER_WHO_SIZE];
    int64_t since;

    contender_decode(data, len, &told);
    MUST_PRINT(told.user);
    MUST_PRINT(told.host);
    MUST_PRINT(told.command);
    MUST_PRINT(told.since);
    MUST_PRINT(told.version);
    MUST_PRINT(told.address);
    MUST(contender_who(data, len, who) == who);
    MUST_PRINT(who);
    MUST(told.known || (!told.held && !*who && !*told.command && !told.held_ms));
    MUST(!told.known || !*told.address);
    MUST(told.terms.kind <= CONTENDER_PERMIT && told.terms.permits >= 0);
    MUST(told.terms.lease_ms >= 0 && told.terms.settling_ms >= 0 && told.held_ms >= 0);
    MUST(told.pid >= 0);
    MUST(!contender_holds_exclusively(data, len) || (told.known && told.held));
    since = contender_held_since(&told, ctime, mtime);
    MUST(since == ctime || since == mtime || (since >= ctime && since <= mtime));
}

static void check_revocation(const char *data, size_t len, int64_t held_ms)
{
    char who[CONTENDER_WHO_SIZE];
    char *text;

    revocation_decode(data, len, who);
    MUST_PRINT(who);
    text = revocation_encode(data, len, held_ms);
    MUST(revocation_decode(text, strlen(text), who));
    MUST_PRINT(who);
    MUST(strcmp(text, "__REVOKE__") == 0 || strcmp(who, contender_self()) == 0);
    MUST(!contender_holds_exclusively(text, strlen(text)));
    free(text);
}

/* Makes the second line anew; words as they may stand in argv. */
static void check_written(struct fuzz_input input)
{
    enum contender_state state = fuzz_below(&input, 2);
    enum contender_kind kind = fuzz_below(&input, CONTENDER_PERMIT + 1);
    struct contender_terms terms = {
        .kind = kind,
        .permits = kind == CONTENDER_PERMIT ? (int32_t)(fuzz_number(&input, 4) & INT32_MAX) : 0,
        .lease_ms = (int64_t)(fuzz_number(&input, 8) % 1000000000000000000),
        .no_delay = fuzz_below(&input, 2),
        .settling_ms = (int64_t)(fuzz_number(&input, 8) % 1000000000000000000),
    };
    char *word = fuzz_draw_text(&input, 255);
    char *argv[] = {word, word, NULL};
    struct contender told;
    char who[CONTENDER_WHO_SIZE];
    char *text;

    contender_introduce(argv);
    text = contender_encode(state, &terms);
    contender_decode(text, strlen(text), &told);
    MUST(told.known && told.held == (state == CONTENDER_HELD));
    MUST(told.terms.kind == terms.kind && told.terms.permits == terms.permits);
    MUST(told.terms.lease_ms == terms.lease_ms && told.terms.settling_ms == terms.settling_ms);
    MUST(told.terms.no_delay == terms.no_delay);
    MUST(told.pid == getpid());
    MUST(strcmp(contender_who(text, strlen(text), who), contender_self()) == 0);
    MUST(contender_holds_exclusively(text, strlen(text)) ==
         (state == CONTENDER_HELD && kind != CONTENDER_SHARED));
    check_revocation(text, strlen(text), terms.settling_ms);
    free(text);
    free(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    int64_t ctime = (int64_t)fuzz_number(&input, 8);
    int64_t mtime = (int64_t)fuzz_number(&input, 8);
    char *data = fuzz_copy(bytes, size);

    check_written((struct fuzz_input){bytes, size});
    check_told(data, size, ctime, mtime);
    check_revocation(data, size, ctime);
    free(data);
    return 0;
}
