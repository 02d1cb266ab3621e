/*
 * The protocol: a set of locks, driven as the keeper does it, at an ensemble in memory.  The input
 * says which locks, what other contenders and administrators do, when time passes, which requests
 * are answered, and which answers are lost, refused or not true.
 *
 * Whatever is answered:
 *   - who holds a lock has a proof: a write that named its znode, sent when lock_proven_at() says,
 *     which this session's ensemble has carried out; and the proofs do not go back;
 *   - a lock that is over asks for nothing more; one that was lost says why;
 *   - lock_leave() comes to an end once all is answered, and nothing is leaked;
 *   - without credentials no ACL is asked for or given.
 *
 * As long as all answers are true, also if some are lost:
 *   - who gets a lock is alone: nobody who excludes it stands before it in the queue, and of a
 *     semaphore no more have permits than there are;
 *   - nobody gets a lock while the command of a holder that vanished may run, by its lease;
 *   - the lease of a holder is that of the record, which all holders see;
 *   - who has left has no znode left;
 *   - with credentials, who holds a lock or waits in line has given its znode the ACL that
 *     acl_inherit() makes of the lock's; or its own one, if it has made the lock.
 */
#include "lock/lockset_state.h"

#include "base/clock.h"
#include "base/lease.h"
#include "ensemble/acl.h"
#include "lock/lock_state.h"
#include "lock/recipe.h"
#include "lock/record.h"
#include "session.h"

enum { LOCKS_MAX = 2, PROOFS_MAX = 1024, OTHERS_FROM = 1000 };

/* What is known of a lock of the set. */
struct track {
    enum lock_phase phase;
    const struct lock *lock;
    int64_t proven_at;
    int64_t busy_until; /* a command of a holder that vanished may run */
    unsigned int asked;
};

/* A write that named a znode and was carried out. */
struct proof {
    const char *node;
    int64_t sent;
};

static struct fuzz_input input;
static struct lockset *set;
static struct lockset_item items[LOCKS_MAX];
static size_t items_len;
static struct track tracks[LOCKS_MAX];
static struct proof proofs[PROOFS_MAX];
static size_t proofs_len;
static int64_t next_tick;
static int64_t other; /* the session of the next other contender */
static bool is_true;  /* the ensemble has told no lies, and nobody has meddled with its record */
static bool is_taken; /* an own znode may have been taken away */

/* With TRACE in the environment: tells what happens, to read what an input does. */
static void trace(const char *what, const char *path, int tag, int rc)
{
    static int wanted = -1;

    if (wanted < 0)
        wanted = getenv("TRACE") != NULL;
    if (wanted)
        dprintf(fuzz_stderr, "%9.3f %s %s tag %d rc %d\n", (double)session_now / CLOCK_S, what,
                path, tag, rc);
}

/* With credentials only own znodes get an ACL of their own; others get the session's. */
static void check_request(const struct request *request)
{
    const struct ask *part = &request->parts[0];

    if (request->type == ZOO_GETACL_OP)
        MUST(strcmp(part->path, items[request->tag / lock_first_tag(1)].path) == 0);
    if (request->type == ZOO_CREATE_OP &&
        (part->number == ZOO_PERSISTENT || !session.has_credentials))
        MUST(strcmp(request->acl, "-") == 0);
}

static void session_asked(const struct request *request)
{
    trace("asks", request->parts[0].path, request->tag, request->type);
    check_request(request);
    tracks[request->tag / lock_first_tag(1)].asked++;
}

/* The GUIDs are the same in each run of an input. */
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned int flags);
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned int flags)
{
    static unsigned char next;

    (void)flags;
    memset(bytes, ++next, len);
    return (ssize_t)len;
}

/* ---- what holds ---- */

/* A lock with the set's parts of a semaphore: the turn, then the permits. */
static bool is_turn(size_t i)
{
    return items[i].terms.turn;
}

static bool is_proven(const struct lock *lock)
{
    for (size_t i = 0; i < proofs_len; i++)
        if (proofs[i].sent == lock_proven_at(lock) && strcmp(proofs[i].node, lock_node(lock)) == 0)
            return true;
    return proofs_len == PROOFS_MAX;
}

/* Returns true if a child that stands before the own znode, or came before it, excludes it. */
static bool is_excluded(size_t i, const struct znode *own)
{
    char *names[NAMES_MAX];
    size_t count = 0;
    size_t older = 0;

    for (size_t j = 0; j < ensemble.len; j++) {
        const struct znode *znode = &ensemble.znodes[j];
        int32_t sequence;

        if (!is_child(znode, items[i].path) || !recipe_sequence(znode->path, &sequence))
            continue;
        /* An unfair one that came later finds the own znode, and goes away. */
        if (strcmp(strrchr(znode->path, '/') + 1, RECIPE_UNFAIR_NAME) == 0 &&
            znode->stat.czxid > own->stat.czxid)
            continue;
        names[count++] = (char *)strrchr(znode->path, '/') + 1;
        older += znode->stat.czxid < own->stat.czxid;
    }
    if (items[i].terms.permits)
        return older >= (size_t)items[i].terms.permits;
    if (items[i].terms.kind == NAMING_UNFAIR)
        return older > 0;
    return recipe_place(names, count, strrchr(own->path, '/') + 1).ahead > 0;
}

/* Returns the lease that the record has; 0: there is no record. */
static int64_t lease_of_record(size_t i)
{
    const struct znode *znode = ensemble_find(items[i].path);
    struct record record;

    return znode && record_decode(znode->data, strlen(znode->data), &record)
               ? record.lease_ms * CLOCK_MS
               : 0;
}

static void check_acquired(size_t i, const struct lock *lock)
{
    const struct znode *own = ensemble_find(lock_node(lock));
    int64_t lease = lease_of_record(i);

    if (!is_true)
        return;
    MUST(is_turn(i) || lease == 0 || lease == lock_lease(lock));
    MUST(is_turn(i) || lease > 0 || lock_lease(lock) == LEASE_DEFAULT);
    MUST(is_taken || (own && own->stat.ephemeralOwner == session.id));
    if (is_taken || !own)
        return;
    MUST(lock_token(lock) == own->stat.czxid);
    MUST(!is_excluded(i, own));
    MUST(is_turn(i) || items[i].terms.permits || items[i].terms.delay == 0 ||
         session_now >= tracks[i].busy_until);
}

/* Of who holds the lock, or waits in line and has nothing under way. */
static void check_acl(size_t i, const struct lock *lock)
{
    const struct znode *parent = ensemble_find(items[i].path);
    const struct znode *own = lock_node(lock) ? ensemble_find(lock_node(lock)) : NULL;
    struct ACL_vector *acl;
    char *wanted;
    char *fault;

    if (!is_true || !session.has_credentials || !parent || !own || !lock_is_idle(lock))
        return;
    acl = acl_inherit(acl_of(parent));
    if (!acl && acl_is_open(session_acl(lock->session)))
        acl = acl_parse("creator-read", &fault);
    wanted = acl_text(acl);
    MUST(strcmp(own->acl, wanted) == 0 || (parent->acl && strcmp(own->acl, "-") == 0));
    free(wanted);
    acl_free(acl);
}

static bool is_over(enum lock_phase phase)
{
    return phase == LOCK_LEFT || phase == LOCK_LOST || phase == LOCK_OUT;
}

static bool owns_any(size_t i)
{
    for (size_t j = 0; j < ensemble.len; j++)
        if (is_child(&ensemble.znodes[j], items[i].path) && session.id &&
            ensemble.znodes[j].stat.ephemeralOwner == session.id)
            return true;
    return false;
}

/*
 * Returns true if a znode of the lock is found again after a create whose answer was lost.  One by
 * a name without a GUID goes with the session.
 */
static bool is_found_again(size_t i)
{
    const struct lock_terms *terms = &items[i].terms;

    return naming_has_guid(&terms->naming, terms->kind) ||
           (terms->kind == NAMING_UNFAIR && set->items);
}

/* Called after each call of the set. */
static void check(void)
{
    for (size_t i = 0; i < set->count; i++) {
        struct track *track = &tracks[i];
        const struct lock *lock = set->locks[i];
        enum lock_phase phase = lock ? lock_phase(lock) : LOCK_JOINING;
        const char *why = NULL;

        if (lock && lock == track->lock && is_over(track->phase)) {
            MUST(phase == track->phase);
            MUST(track->asked == 0);
        }
        if (lock && phase == LOCK_HELD) {
            MUST(is_proven(lock));
            MUST(lock_proven_at(lock) <= session_now);
            if (lock == track->lock && track->phase == LOCK_HELD)
                MUST(lock_proven_at(lock) >= track->proven_at);
            else
                check_acquired(i, lock);
            track->proven_at = lock_proven_at(lock);
        }
        if (lock && (phase == LOCK_HELD || phase == LOCK_WAITING))
            check_acl(i, lock);
        if (lock && phase == LOCK_LOST)
            MUST(lock_failure(lock, &why) == EXITCODE_LOST && why);
        if (lock && phase == LOCK_LEFT && track->phase != LOCK_LEFT && is_true && is_found_again(i))
            MUST(!owns_any(i));
        if (lock && lock_failure(lock, &why))
            MUST(why && *why);
        track->asked = 0;
        track->phase = phase;
        track->lock = lock;
    }
    if (set->items && lockset_phase(set) == LOCK_HELD)
        for (size_t i = 0; i < set->count; i++)
            MUST(items[i].until_next || lock_phase(set->locks[i]) == LOCK_HELD);
}

/* ---- the keeper ---- */

static void note_proof(const struct news *news)
{
    const struct request *request = &news->request;

    if (news->event.rc != ZOK || !is_write(request->type))
        return;
    for (size_t i = 0; i < request->count && proofs_len < PROOFS_MAX; i++) {
        bool made = request->parts[i].type == ZOO_CREATE_OP;

        if (i == 0 || request->parts[i].path != request->parts[i - 1].path)
            proofs[proofs_len++] = (struct proof){
                made && news->event.path ? ensemble_copy(news->event.path) : request->parts[i].path,
                request->sent};
    }
}

/* Returns false if there was nothing. */
static bool deliver(void)
{
    static const char *const names[] = {"connected", "disconnected", "expired", "watch", "reply"};
    const struct news *news = session_take();

    if (!news)
        return false;
    if (news->event.type == SESSION_REPLY)
        note_proof(news);
    trace(names[news->event.type], news->event.path ? news->event.path : "", news->event.tag,
          news->event.rc);
    lockset_handle(set, &news->event);
    check();
    if (news->event.type == SESSION_EXPIRED)
        proofs_len = 0;
    return true;
}

static void deliver_all(void)
{
    while (session.news_end < QUEUE_MAX / 2 && deliver())
        continue;
}

static void tick(void)
{
    next_tick = lockset_tick(set);
    check();
}

static void pass_time(int64_t span)
{
    session_now += span;
    ensemble.now += span / CLOCK_MS;
    tick();
}

/* ---- the others ---- */

static size_t draw_lock(void)
{
    return fuzz_below(&input, (unsigned int)items_len);
}

/* Another contender comes, of any kind. */
static void other_comes(size_t i)
{
    static const char *const names[] = {"lock-", "__READ__", "__WRIT__", "lease-"};
    static const char *const data[] = {"zkflock/1 waiting exclusive\n",
                                       "zkflock/1 held exclusive\n", "10.0.0.1"};
    bool unfair = fuzz_below(&input, 8) == 0;
    char *path = NULL;

    if (asprintf(&path, "%s/_c_%032d-%s", items[i].path, (int)other, names[fuzz_below(&input, 4)]) <
        0)
        abort();
    if (unfair) {
        free(path);
        if (asprintf(&path, "%s/%s", items[i].path, RECIPE_UNFAIR_NAME) < 0)
            abort();
    }
    ensemble_do(ZOO_CREATE_OP, ensemble_keep(path), data[unfair ? 0 : 2 * fuzz_below(&input, 2)],
                unfair ? ZOO_EPHEMERAL : ZOO_EPHEMERAL_SEQUENTIAL, other++);
}

/* Draws one of the others in a queue; NULL: there is none. */
static struct znode *draw_other(size_t i)
{
    struct znode *found[ZNODES_MAX];
    unsigned int count = 0;

    for (size_t j = 0; j < ensemble.len; j++)
        if (is_child(&ensemble.znodes[j], items[i].path) &&
            ensemble.znodes[j].stat.ephemeralOwner >= OTHERS_FROM)
            found[count++] = &ensemble.znodes[j];
    return count ? found[fuzz_below(&input, count)] : NULL;
}

/* Another one goes, and counts itself out or vanishes; then it may have held the lock. */
static void other_goes(size_t i, bool counted)
{
    const struct znode *znode = draw_other(i);
    const struct znode *lock = ensemble_find(items[i].path);
    int64_t lease = lease_of_record(i) ? lease_of_record(i) : LEASE_DEFAULT;
    struct ask parts[2];
    const char *made;
    size_t failed;

    if (!znode || !lock)
        return;
    parts[0] = (struct ask){ZOO_SETDATA_OP, lock->path, lock->data, -1, false};
    parts[1] = (struct ask){ZOO_DELETE_OP, znode->path, NULL, -1, false};
    if (!counted && !is_excluded(i, znode) &&
        (items[i].terms.kind != NAMING_READER || !recipe_is_shared(znode->path)))
        tracks[i].busy_until = session_now + lease;
    ensemble_write(counted ? parts : parts + 1, counted ? 2 : 1, 0, &failed, &made);
}

/* Another one that is first marks its znode as held. */
static void other_writes(size_t i)
{
    const struct znode *znode = draw_other(i);
    bool first = znode && !is_excluded(i, znode) && !recipe_is_shared(znode->path);

    if (znode)
        ensemble_do(ZOO_SETDATA_OP, znode->path,
                    first ? "zkflock/1 held exclusive\n" : "zkflock/1 waiting exclusive\n", -1, 0);
}

/* Somebody removes a lock with all that is in it, and perhaps makes another one. */
static void remove_lock(size_t i)
{
    const struct znode *lock = ensemble_find(items[i].path);

    if (!lock)
        return;
    is_true &= lock->stat.numChildren == 0 && session_now >= tracks[i].busy_until;
    for (size_t j = ensemble.len; j-- > 0;) {
        if (j >= ensemble.len || !is_child(&ensemble.znodes[j], items[i].path))
            continue;
        is_taken = true;
        ensemble_do(ZOO_DELETE_OP, ensemble.znodes[j].path, NULL, -1, 0);
        j = ensemble.len;
    }
    ensemble_do(ZOO_DELETE_OP, ensemble_copy(items[i].path), NULL, -1, 0);
    if (fuzz_below(&input, 2))
        ensemble_do(ZOO_CREATE_OP, ensemble_copy(items[i].path), "", ZOO_PERSISTENT, 0);
}

/* Somebody takes an own znode away, asks for the lock, writes what is no record, or removes it. */
static void meddle(size_t i)
{
    static const char *const data[] = {"", "foreign", "3", "zkflock/1 base=7 lease=1000ms\n"};
    const char *node = set->locks[i] ? lock_node(set->locks[i]) : NULL;

    switch (fuzz_below(&input, 5)) {
    case 0:
        is_taken = true;
        if (node)
            ensemble_do(ZOO_DELETE_OP, node, NULL, -1, 0);
        break;
    case 1:
        if (node)
            ensemble_do(ZOO_SETDATA_OP, node, "zkflock/1 revoked exclusive\n", -1, 0);
        break;
    case 2:
        is_true = false;
        ensemble_do(ZOO_SETDATA_OP, items[i].path, data[fuzz_below(&input, 4)], -1, 0);
        break;
    case 3:
        ensemble_do(ZOO_CREATE_OP, ensemble_copy(items[i].path), "", ZOO_PERSISTENT, 0);
        break;
    default:
        remove_lock(i);
        break;
    }
}

/* ---- the ensemble ---- */

static void serve(void)
{
    if (session.linked && session.begin < session.end)
        session_serve(false);
}

/* Refuses a request, without carrying it out. */
static void refuse(void)
{
    static const int why[] = {ZNOAUTH,   ZNONODE,      ZBADVERSION,  ZNODEEXISTS,
                              ZNOTEMPTY, ZTHROTTLEDOP, ZSYSTEMERROR, ZINVALIDACL};
    int rc = why[fuzz_below(&input, sizeof(why) / sizeof(why[0]))];

    if (!session.linked || session.begin == session.end)
        return;
    is_true &= rc == ZTHROTTLEDOP;
    answer(&session.queue[session.begin++], rc);
    if (rc == ZTHROTTLEDOP) {
        deliver_all();
        session.connected = false;
        news_add(SESSION_CONNECTED);
    }
}

/* Answers what is not so. */
static void lie(void)
{
    struct news *news;

    if (!session.linked || session.begin == session.end)
        return;
    is_true = false;
    news = session_serve(false);
    if (news->event.acl)
        news->event.acl = &acls[fuzz_below(&input, sizeof(acls) / sizeof(acls[0]))];
    switch (fuzz_below(&input, 6)) {
    case 0:
        news->event.data = ensemble_keep(fuzz_draw_text(&input, 100));
        news->event.data_len = strlen(news->event.data);
        break;
    case 1:
        news->event.stat.version = (int32_t)fuzz_number(&input, 4);
        news->event.stat.cversion = (int32_t)fuzz_number(&input, 4);
        break;
    case 2:
        news->event.stat.numChildren = (int32_t)fuzz_number(&input, 4);
        break;
    case 3:
        news->event.stat.ephemeralOwner = fuzz_byte(&input);
        news->event.stat.czxid = fuzz_byte(&input);
        news->event.stat.pzxid = fuzz_byte(&input);
        break;
    case 4:
        while (news->event.children_len > 0 && fuzz_below(&input, 4))
            news->event.children_len--;
        break;
    default:
        if (news->event.children_len < NAMES_MAX)
            news->names[news->event.children_len++] =
                (char *)ensemble_keep(fuzz_draw_text(&input, 50));
        break;
    }
    /* No server answers a get without data, nor a create without a path. */
    if (news->event.rc == ZOK && !news->event.data)
        news->event.data = "";
}

/* ---- a run ---- */

/* The last byte says it: so inputs mean the same without it. */
static void begin_session(void)
{
    unsigned int which = input.len > 0 ? input.bytes[--input.len] : 0;

    session.has_credentials = which & 1;
    session.told = which >> 1;
}

static void begin_set(void)
{
    static const enum naming_kind kinds[] = {NAMING_MUTEX, NAMING_READER, NAMING_WRITER,
                                             NAMING_UNFAIR, NAMING_MUTEX};
    static const char *const records[] = {"", "zkflock/1 base=0 lease=15000ms\n",
                                          "zkflock/1 base=0 lease=5000ms\n", NULL};
    unsigned int which = fuzz_byte(&input);
    const char *record = records[which >> 4 & 3];
    const struct lock_terms terms = {
        .lease = which & 64 ? 30 * CLOCK_S : LEASE_DEFAULT,
        .delay = which & 128 ? 0 : LEASE_OWN_DELAY,
        .kind = kinds[which % 5],
        .naming = {.style = which % 5 == 4 ? NAMING_PLAIN : NAMING_CURATOR, .prefix = "job-"},
        .waits = true,
    };
    bool semaphore = (which & 15) == 15;

    items_len = (which & 15) < 11 ? 1 : LOCKS_MAX;
    for (size_t i = 0; i < items_len; i++) {
        const char *path = semaphore ? (i ? "/a/s/leases" : "/a/s/locks") : (i ? "/a/y" : "/a/x");

        items[i] = (struct lockset_item){
            .path = (char *)path, .lock = path, .terms = terms, .main = i + 1 == items_len};
        if (semaphore) {
            items[i].terms.above = LOCK_ABOVE_NO_LOCK;
            items[i].terms.turn = items[i].until_next = i == 0;
            items[i].terms.kind = i ? NAMING_PERMIT : NAMING_MUTEX;
            items[i].terms.naming = (struct naming){.style = NAMING_CURATOR};
            items[i].terms.permits = i ? 2 : 0;
        }
    }
    if (!record)
        return;
    ensemble_do(ZOO_CREATE_OP, "/a", "", ZOO_PERSISTENT, 0);
    for (size_t i = 0; i < items_len && !semaphore; i++)
        ensemble_do(ZOO_CREATE_OP, items[i].path, record, ZOO_PERSISTENT, 0);
}

static void act(void)
{
    size_t i = draw_lock();

    switch (fuzz_below(&input, 24)) {
    case 0:
        pass_time((int64_t)fuzz_byte(&input) * 100 * CLOCK_MS);
        break;
    case 1:
        if (next_tick != CLOCK_NEVER && next_tick > session_now)
            pass_time(next_tick - session_now);
        break;
    case 2:
        pass_time(fuzz_byte(&input) * CLOCK_MS);
        break;
    case 3:
        session_unlink(fuzz_byte(&input));
        break;
    case 4:
    case 5:
        session_link();
        break;
    case 6:
        is_taken = true;
        session_expire();
        break;
    case 7:
        session_attempt(fuzz_byte(&input));
        break;
    case 8:
    case 9:
        other_comes(i);
        break;
    case 10:
    case 11:
        other_goes(i, true);
        break;
    case 12:
        other_goes(i, false);
        break;
    case 13:
        other_writes(i);
        break;
    case 14:
        meddle(i);
        break;
    case 15:
        refuse();
        break;
    case 16:
        lie();
        break;
    case 17:
        lockset_prove(set);
        check();
        break;
    case 18:
        if (fuzz_below(&input, 4) == 0) {
            lockset_leave(set);
            check();
        }
        break;
    case 19:
        deliver();
        break;
    case 20:
        serve();
        break;
    default:
        serve();
        deliver_all();
        break;
    }
}

/* Answers everything, until nothing is left to do. */
static void settle(void)
{
    for (int round = 0; round < 3000 && lockset_phase(set) != LOCK_LEFT; round++) {
        session_link();
        serve();
        deliver_all();
        if (session.begin == session.end)
            pass_time(CLOCK_S);
    }
    MUST(lockset_phase(set) == LOCK_LEFT);
}

/* The keeper dies, and the guard gives back what is left, as legacy.c does. */
static void inherit(size_t size)
{
    char text[4096];

    if (lockset_export(set, text, sizeof(text)) >= sizeof(text))
        abort();
    lockset_free(set);
    session_unlink(size % 8);
    drop_all();
    session.connected = false;
    memset(tracks, 0, sizeof(tracks));
    set = lockset_resume(&session, text);
    check();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input = (struct fuzz_input){bytes, size < 600 ? size : 600};
    session_now = 1000 * CLOCK_S;
    ensemble.now = INT64_C(1764214800000);
    memset(tracks, 0, sizeof(tracks));
    proofs_len = 0;
    other = OTHERS_FROM;
    is_true = true;
    is_taken = false;
    next_tick = CLOCK_NEVER;
    begin_session();
    begin_set();
    set = lockset_new(&session, items, items_len);
    check();
    while (input.len > 0 && session.end < QUEUE_MAX / 2 && session.news_end < QUEUE_MAX / 2 &&
           ensemble.len < ZNODES_MAX / 2)
        act();
    if (size > 1 && bytes[1] & 1 && session.established && !session.expired) {
        inherit(size);
    } else {
        lockset_leave(set);
        check();
    }
    settle();
    lockset_free(set);
    session_end();
    ensemble_end();
    return 0;
}
