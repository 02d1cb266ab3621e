/*
 * The lock protocol.
 *
 * A step is a flight of requests, sent together and answered in order; when the last answer is in,
 * flight_landed() decides the next step.
 *
 *   MAKE_PARENTS -> JOIN              the lock's znode is made, then the own one in it
 *   JOIN  -> HELD                     first, nobody vanished: one round trip  [consider_count]
 *         -> WATCH -> idle            others are ahead; waits for the predecessor  [queue_up]
 *   idle  -> PROVE                    it went and only it was ahead  [predecessor_gone]
 *         -> LIST -> PROVE | WATCH    it went and more may be ahead
 *   PROVE -> HELD                     nobody vanished  [consider_count]
 *         -> SETTLING -> PROVE        somebody did: the lease is waited out, once  [lock_tick]
 *         -> SQUARE -> HELD           then the vanished are counted out
 *         -> ADOPT  -> HELD           the same for a lock that zkflock did not make
 *   any   -> LEAVE -> LEFT            counted out in one transaction  [lock_leave]
 *
 * If contact is lost before all answers are in, the outcome of the flight is unknown.  Once there
 * is contact again, the step is taken again [retry], and JOIN goes on as FIND: the znode may
 * exist.  An expired session takes a waiter back to JOIN and a holder to LOST.
 *
 * What holds:
 *   - Being first is stable: no lower sequence number can appear.
 *   - HELD needs a committed write that names the own znode (create, set or multi with check) sent
 *     after the lock came free, and a census read behind it in the same session.
 *   - Every znode made leaves counted in the parent's version, or its departure makes
 *     recipe_vanished() grow, and the next holder waits.
 *   - The GUID is new for each session, so a znode that carries it is this session's.
 */
#include "lock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "contender.h"
#include "log.h"
#include "recipe.h"
#include "record.h"
#include "xalloc.h"

enum step {
    STEP_NONE,
    STEP_MAKE_PARENTS,
    STEP_JOIN,
    STEP_FIND,
    STEP_LIST,
    STEP_WATCH,
    STEP_PROVE,
    STEP_SQUARE,
    STEP_ADOPT,
    STEP_READ_VERSION,
    STEP_LEAVE,
};

/* What a request was for; its answer carries it. */
enum tag {
    TAG_ANCESTOR,
    TAG_CREATE,
    TAG_SYNC,
    TAG_CHILDREN,
    TAG_PARENT,
    TAG_OWN,
    TAG_PREDECESSOR,
    TAG_MULTI,
    TAG_DELETE,
    TAG_COUNT,
    TAG_PROOF, /* of no step */
};

enum {
    GUID_BYTES = 16,
    SQUARE_MAX = 500,      /* sets in one transaction; 4,000 take 36 ms */
    LEAVE_CAUTIOUSLY = 5,  /* tries with the version that was read, before any version will do */
    REMAKE_MAX = 10,       /* times that a lock may be removed under our hands */
};

enum record_state {
    RECORD_UNKNOWN, /* not read yet */
    RECORD_OURS,    /* lock->record holds */
    RECORD_NONE,    /* the znode is empty: made by somebody else, may be adopted */
    RECORD_BROKEN,  /* the count cannot be right: wait, never square, never count */
};

struct lock {
    struct session *session;
    char *path;
    enum lock_phase phase;
    enum step step;
    bool leaving;

    /* the flight */
    unsigned int pending;
    bool unknown;       /* an answer of it was lost */
    bool retry;         /* the step is to be taken again once there is contact */
    int rc[TAG_COUNT];
    int ancestor_rc;    /* the first trouble with one of the znodes above the lock's */
    int64_t sent;       /* when its first request was */
    int64_t received;   /* when its last answer came */

    /* the lock's znode */
    struct record record;
    enum record_state record_state;
    struct recipe_census census;
    unsigned int remade;

    /* the own znode */
    char guid[2 * GUID_BYTES + 1];
    char *node; /* NULL: not made, as far as is known */
    int64_t czxid;

    /* the queue */
    struct recipe_place place; /* its strings are gone; found, ahead hold */
    char *predecessor;         /* path */
    bool predecessor_holds;

    /* settling */
    int64_t settled_at; /* CLOCK_NEVER: not begun */
    bool settled;

    int64_t proven_at;
    unsigned int leave_tries;

    enum exitcode failure;
    char *failure_text;
};

static void begin_leaving(struct lock *lock);

/* ---- small things ---- */

static void fail(struct lock *lock, enum exitcode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the attempt: gives back what there is, and says why. */
static void fail(struct lock *lock, enum exitcode code, const char *format, ...)
{
    va_list args;

    if (!lock->failure) {
        lock->failure = code;
        va_start(args, format);
        if (vasprintf(&lock->failure_text, format, args) < 0)
            lock->failure_text = NULL;
        va_end(args);
    }
    lock->leaving = true;
    begin_leaving(lock);
}

/* For an answer that no step knows what to do with. */
static void fail_rc(struct lock *lock, int rc, const char *what, const char *path)
{
    switch (rc) {
    case ZNOAUTH:
        fail(lock, EXITCODE_NOPERM,
             "not permitted to %s %s: its ACL has to give this client READ, WRITE, CREATE and "
             "DELETE",
             what, path);
        break;
    case ZNOCHILDRENFOREPHEMERALS:
        fail(lock, EXITCODE_CONFIG,
             "cannot %s %s: an ephemeral znode stands in the way; choose another LOCK", what, path);
        break;
    case ZNOTREADONLY:
        fail(lock, EXITCODE_UNREACHABLE, "cannot %s %s: the server has lost its ensemble", what,
             path);
        break;
    default:
        fail(lock, EXITCODE_INTERNAL, "cannot %s %s: %s (ZooKeeper error %d)", what, path,
             zerror(rc), rc);
    }
}

static void set_text(char **place, char *text)
{
    free(*place);
    *place = text;
}

/* A new identity; getrandom(2), because the client library seeds the C library's generators. */
static void renew_guid(struct lock *lock)
{
    unsigned char bytes[GUID_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        log_error("getrandom failed");
        _exit(EXITCODE_OSERR);
    }
    for (size_t i = 0; i < GUID_BYTES; i++)
        sprintf(lock->guid + 2 * i, "%02x", bytes[i]);
}

static void forget_place(struct lock *lock)
{
    set_text(&lock->node, NULL);
    set_text(&lock->predecessor, NULL);
    lock->czxid = 0;
    lock->settled = false;
    lock->settled_at = CLOCK_NEVER;
}

/* ---- the steps: what each sends ---- */

static void take_off(struct lock *lock, enum step step, unsigned int requests)
{
    lock->step = step;
    lock->pending = requests;
    lock->unknown = lock->retry = false;
    lock->ancestor_rc = ZOK;
    memset(lock->rc, 0, sizeof(lock->rc));
    lock->sent = clock_now();
}

/* /a/b/c: makes /a, /a/b and, with the record, /a/b/c. */
static void step_make_parents(struct lock *lock)
{
    const struct record fresh = {.base = 0, .lease_ms = lock->record.lease_ms};
    unsigned int depth = 0;
    char text[RECORD_SIZE];

    for (const char *p = lock->path; *p; p++)
        depth += *p == '/';
    record_encode(&fresh, text);
    take_off(lock, STEP_MAKE_PARENTS, depth);
    for (const char *p = strchr(lock->path + 1, '/'); p; p = strchr(p + 1, '/')) {
        char *ancestor = xstrndup(lock->path, (size_t)(p - lock->path));

        session_create(lock->session, TAG_ANCESTOR, ancestor, "", ZOO_PERSISTENT);
        free(ancestor);
    }
    session_create(lock->session, TAG_ANCESTOR, lock->path, text, ZOO_PERSISTENT);
}

static void step_join(struct lock *lock)
{
    char *own = xasprintf("%s/_c_%s-lock-", lock->path, lock->guid);

    lock->phase = LOCK_JOINING;
    take_off(lock, STEP_JOIN, 3);
    session_create(lock->session, TAG_CREATE, own, contender_encode(CONTENDER_WAITING),
                   ZOO_EPHEMERAL_SEQUENTIAL);
    /* In this order: the list may be older than what the get shows, but not newer. */
    session_get_children(lock->session, TAG_CHILDREN, lock->path);
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
    free(own);
}

/* A create whose answer was lost: the sync makes whichever server we are at now know of it. */
static void step_find(struct lock *lock)
{
    take_off(lock, STEP_FIND, 3);
    session_sync(lock->session, TAG_SYNC, lock->path);
    session_get_children(lock->session, TAG_CHILDREN, lock->path);
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
}

static void step_list(struct lock *lock)
{
    take_off(lock, STEP_LIST, 3);
    session_exists(lock->session, TAG_OWN, lock->node);
    session_get_children(lock->session, TAG_CHILDREN, lock->path);
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
}

static void step_watch(struct lock *lock)
{
    take_off(lock, STEP_WATCH, 1);
    session_get(lock->session, TAG_PREDECESSOR, lock->predecessor, SESSION_SET_WATCH);
}

static void step_prove(struct lock *lock)
{
    take_off(lock, STEP_PROVE, 2);
    session_set(lock->session, TAG_OWN, lock->node, contender_encode(CONTENDER_HELD));
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
}

/* Sets the parent count times to its own bytes, if neither it nor the own znode changed. */
static void step_square(struct lock *lock, uint32_t count)
{
    zoo_op_t ops[2 + SQUARE_MAX];
    char text[RECORD_SIZE];
    int len = (int)record_encode(&lock->record, text);

    if (count > SQUARE_MAX)
        count = SQUARE_MAX;
    zoo_check_op_init(&ops[0], lock->path, lock->census.version);
    zoo_check_op_init(&ops[1], lock->node, -1);
    for (uint32_t i = 0; i < count; i++)
        zoo_set_op_init(&ops[2 + i], lock->path, text, len, -1, NULL);
    take_off(lock, STEP_SQUARE, 1);
    session_multi(lock->session, TAG_MULTI, ops, (int)(2 + count));
}

static void step_adopt(struct lock *lock)
{
    const struct record adopted = {.base = recipe_base_for_adoption(lock->census),
                                   .lease_ms = lock->record.lease_ms};
    zoo_op_t ops[2];
    char text[RECORD_SIZE];
    int len = (int)record_encode(&adopted, text);

    zoo_set_op_init(&ops[0], lock->path, text, len, lock->census.version, NULL);
    zoo_check_op_init(&ops[1], lock->node, -1);
    lock->record = adopted;
    take_off(lock, STEP_ADOPT, 1);
    session_multi(lock->session, TAG_MULTI, ops, 2);
}

static void step_read_version(struct lock *lock)
{
    take_off(lock, STEP_READ_VERSION, 1);
    session_get(lock->session, TAG_PARENT, lock->path, SESSION_NO_WATCH);
}

/* Counts the departure in the transaction that makes it, where there is a record to count in. */
static void step_leave(struct lock *lock)
{
    zoo_op_t ops[2];
    char text[RECORD_SIZE];
    int len = (int)record_encode(&lock->record, text);
    int version = ++lock->leave_tries > LEAVE_CAUTIOUSLY ? -1 : lock->census.version;

    take_off(lock, STEP_LEAVE, 1);
    if (lock->record_state != RECORD_OURS) {
        session_delete(lock->session, TAG_DELETE, lock->node);
        return;
    }
    zoo_set_op_init(&ops[0], lock->path, text, len, version, NULL);
    zoo_delete_op_init(&ops[1], lock->node, -1);
    session_multi(lock->session, TAG_MULTI, ops, 2);
}

/* ---- decisions ---- */

static void left(struct lock *lock)
{
    forget_place(lock);
    lock->step = STEP_NONE;
    lock->phase = LOCK_LEFT;
}

/* Waits for the flight under way; its landing comes back here. */
static void begin_leaving(struct lock *lock)
{
    if (lock->phase == LOCK_LEFT || lock->phase == LOCK_LOST)
        return;
    lock->phase = LOCK_LEAVING;
    if (lock->pending || lock->retry || lock->step == STEP_LEAVE)
        return;
    if (!lock->node)
        left(lock);
    else if (lock->record_state == RECORD_UNKNOWN)
        step_read_version(lock);
    else
        step_leave(lock);
}

static void rejoin(struct lock *lock, const char *why)
{
    log_warning("%s; joining the queue of %s again", why, lock->path);
    forget_place(lock);
    renew_guid(lock);
    step_join(lock);
}

static void held(struct lock *lock)
{
    lock->proven_at = lock->sent;
    lock->step = STEP_NONE;
    lock->phase = LOCK_HELD;
}

/*
 * First in the queue, proven, and the census was read behind the proof: may the command start?
 * Rule: after L, counted from the receipt of the first census, the one who is first and exclusive
 * squares whatever it finds; nobody behind it ever held.
 */
static void consider_count(struct lock *lock)
{
    uint32_t vanished = 0;

    if (lock->record_state == RECORD_OURS) {
        vanished = recipe_vanished(lock->census, lock->record.base);
        if (vanished == 0) {
            held(lock);
            return;
        }
        if (!recipe_plausible(vanished)) {
            log_warning("the departure count of %s cannot be right: has somebody written to it? "
                        "Every holder waits %" PRId64 " s for it; see --remove",
                        lock->path, lock->record.lease_ms / 1000);
            lock->record_state = RECORD_BROKEN;
        }
    }
    if (!lock->settled) {
        char span[CLOCK_FORMAT_SIZE];

        lock->step = STEP_NONE;
        lock->phase = LOCK_SETTLING;
        if (lock->settled_at == CLOCK_NEVER)
            lock->settled_at = lock->received + lock_lease(lock);
        log_info("%s: %s; its command may run for %s more", lock->path,
                 lock->record_state == RECORD_OURS ? "a contender vanished"
                                                   : "earlier holders are not known",
                 clock_format(lock->settled_at - clock_now(), span));
    } else if (lock->record_state == RECORD_OURS) {
        step_square(lock, vanished);
    } else if (lock->record_state == RECORD_NONE) {
        step_adopt(lock);
    } else {
        held(lock);
    }
}

static void queue_up(struct lock *lock)
{
    lock->phase = LOCK_WAITING;
    log_info("waiting for %s: %zu ahead", lock->path, lock->place.ahead);
    lock->predecessor_holds = false;
    step_watch(lock);
}

/* Whether the lock's znode is one that can be relied on; fails otherwise. */
static bool acceptable(struct lock *lock)
{
    int32_t sequence;

    if (lock->failure)
        return false;
    if (recipe_sequence(lock->node, &sequence) && sequence >= RECIPE_SEQUENCE_LIMIT) {
        fail(lock, EXITCODE_CONFIG,
             "%s has used up its sequence numbers (2^31 contenders); remove that znode or choose "
             "another LOCK",
             lock->path);
        return false;
    }
    return true;
}

/* After a list: where do we stand? */
static void consider_place(struct lock *lock)
{
    if (lock->rc[TAG_CHILDREN] != ZOK)
        fail_rc(lock, lock->rc[TAG_CHILDREN], "list", lock->path);
    else if (lock->rc[TAG_PARENT] != ZOK)
        fail_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (!acceptable(lock))
        return;
    else if (!lock->place.found)
        rejoin(lock, "the own znode was deleted by somebody");
    else if (lock->place.ahead > 0)
        queue_up(lock);
    else if (lock->step == STEP_JOIN)
        consider_count(lock); /* the create is the proof */
    else
        step_prove(lock);
}

static void joined(struct lock *lock)
{
    int rc = lock->rc[TAG_CREATE];

    if (rc == ZNONODE && lock->remade++ < REMAKE_MAX)
        step_make_parents(lock);
    else if (rc != ZOK)
        fail_rc(lock, rc, "create a znode in", lock->path);
    else
        consider_place(lock);
}

static void parents_made(struct lock *lock)
{
    int rc = lock->rc[TAG_ANCESTOR];

    if (rc == ZOK || rc == ZNODEEXISTS)
        step_join(lock);
    else if (rc == ZNONODE && lock->ancestor_rc == ZNONODE)
        fail(lock, EXITCODE_CONFIG,
             "cannot create %s: the chroot in the list of servers does not exist; create that "
             "znode first",
             lock->path);
    else
        fail_rc(lock, rc == ZNONODE ? lock->ancestor_rc : rc, "create", lock->path);
}

static void found(struct lock *lock)
{
    if (lock->rc[TAG_CHILDREN] == ZNONODE || (lock->rc[TAG_CHILDREN] == ZOK && !lock->node))
        step_join(lock); /* the create never happened */
    else if (lock->node && lock->czxid == 0)
        step_list(lock); /* for the token */
    else
        consider_place(lock);
}

static void predecessor_gone(struct lock *lock)
{
    if (lock->place.ahead == 1 || lock->predecessor_holds)
        step_prove(lock);
    else
        step_list(lock);
}

static void proven(struct lock *lock)
{
    if (lock->rc[TAG_OWN] == ZNONODE)
        rejoin(lock, "the own znode was deleted by somebody");
    else if (lock->rc[TAG_OWN] != ZOK)
        fail_rc(lock, lock->rc[TAG_OWN], "write to", lock->node);
    else if (lock->rc[TAG_PARENT] != ZOK)
        fail_rc(lock, lock->rc[TAG_PARENT], "read", lock->path);
    else if (!lock->failure)
        consider_count(lock);
}

/* Without the right to write to the lock's znode: the next holder will wait as this one did. */
static void cannot_count(struct lock *lock)
{
    log_warning("not permitted to write to %s, so departures are not counted there and every "
                "holder waits %" PRId64 " s for the one before",
                lock->path, lock->record.lease_ms / 1000);
    lock->record_state = RECORD_BROKEN;
}

/* SQUARE or ADOPT: of a lock that changed meanwhile everything is read again. */
static void count_written(struct lock *lock)
{
    int rc = lock->rc[TAG_MULTI];
    bool all = lock->step == STEP_ADOPT ||
               recipe_vanished(lock->census, lock->record.base) <= SQUARE_MAX;

    if (rc == ZOK) {
        lock->record_state = RECORD_OURS;
        if (all)
            held(lock);
        else
            step_prove(lock);
    } else if (rc == ZNOAUTH) {
        cannot_count(lock);
        step_prove(lock);
    } else if (rc == ZBADVERSION || rc == ZNONODE) {
        step_prove(lock);
    } else {
        fail_rc(lock, rc, "write to", lock->path);
    }
}

static void version_read(struct lock *lock)
{
    if (lock->rc[TAG_PARENT] == ZNONODE)
        left(lock);
    else
        step_leave(lock);
}

static void leave_answered(struct lock *lock)
{
    int rc = lock->record_state == RECORD_OURS ? lock->rc[TAG_MULTI] : lock->rc[TAG_DELETE];

    if (rc == ZOK || rc == ZNONODE) {
        left(lock);
    } else if (rc == ZBADVERSION) {
        step_read_version(lock);
    } else if (lock->record_state == RECORD_OURS) {
        cannot_count(lock);
        step_leave(lock);
    } else {
        log_warning("cannot delete %s: %s; it goes with the session", lock->node, zerror(rc));
        left(lock);
    }
}

static void flight_landed(struct lock *lock)
{
    /* A place was found or made; what it was wanted for no longer counts. */
    if (lock->leaving && lock->step != STEP_LEAVE && lock->step != STEP_READ_VERSION) {
        if (lock->step == STEP_PROVE && lock->rc[TAG_OWN] == ZNONODE)
            left(lock);
        else
            begin_leaving(lock);
        return;
    }
    switch (lock->step) {
    case STEP_NONE:
        break;
    case STEP_MAKE_PARENTS:
        parents_made(lock);
        break;
    case STEP_JOIN:
        joined(lock);
        break;
    case STEP_FIND:
        found(lock);
        break;
    case STEP_LIST:
        if (lock->rc[TAG_OWN] == ZNONODE)
            rejoin(lock, "the own znode was deleted by somebody");
        else
            consider_place(lock);
        break;
    case STEP_WATCH:
        if (lock->rc[TAG_PREDECESSOR] == ZNONODE)
            predecessor_gone(lock);
        else if (lock->rc[TAG_PREDECESSOR] != ZOK)
            fail_rc(lock, lock->rc[TAG_PREDECESSOR], "watch", lock->predecessor);
        else
            lock->step = STEP_NONE;
        break;
    case STEP_PROVE:
        proven(lock);
        break;
    case STEP_SQUARE:
    case STEP_ADOPT:
        count_written(lock);
        break;
    case STEP_READ_VERSION:
        version_read(lock);
        break;
    case STEP_LEAVE:
        leave_answered(lock);
        break;
    }
}

/* There is contact again and the last flight ended in the dark. */
static void retry(struct lock *lock)
{
    lock->retry = false;
    switch (lock->step) {
    case STEP_NONE:
        break;
    case STEP_MAKE_PARENTS:
        step_make_parents(lock);
        break;
    case STEP_JOIN:
    case STEP_FIND:
        if (lock->node && lock->czxid)
            step_list(lock);
        else
            step_find(lock);
        break;
    case STEP_LIST:
        step_list(lock);
        break;
    case STEP_WATCH:
        step_watch(lock);
        break;
    case STEP_PROVE:
    case STEP_SQUARE:
    case STEP_ADOPT:
        step_prove(lock);
        break;
    case STEP_READ_VERSION:
        step_read_version(lock);
        break;
    case STEP_LEAVE:
        /* If it was carried out, it fails on the znode that is gone. */
        step_leave(lock);
        break;
    }
}

/* ---- answers ---- */

/* The names in the list live only as long as the event: what is needed of them is kept. */
static void note_children(struct lock *lock, const struct session_event *event)
{
    const char *own = lock->node ? strrchr(lock->node, '/') + 1 : NULL;
    int32_t sequence;

    for (size_t i = 0; !own && i < event->children_len; i++)
        if (strstr(event->children[i], lock->guid) && recipe_sequence(event->children[i], &sequence))
            own = event->children[i];
    if (!own)
        return;
    if (!lock->node)
        lock->node = xasprintf("%s/%s", lock->path, own);
    lock->place = recipe_place(event->children, event->children_len, own);
    if (lock->place.predecessor)
        set_text(&lock->predecessor, xasprintf("%s/%s", lock->path, lock->place.predecessor));
}

static void note_parent(struct lock *lock, const struct session_event *event)
{
    struct record record;

    lock->census = (struct recipe_census){.version = event->stat.version,
                                          .cversion = event->stat.cversion,
                                          .children = event->stat.numChildren};
    if (event->stat.ephemeralOwner != 0) {
        lock->record_state = RECORD_BROKEN;
        if (!lock->failure)
            fail(lock, EXITCODE_CONFIG,
                 "%s is a container or TTL znode, which ZooKeeper deletes on its own; choose "
                 "another LOCK",
                 lock->path);
    } else if (record_decode(event->data, event->data_len, &record)) {
        /* What was once found out to be wrong stays so: this process counts no longer. */
        if (lock->record_state == RECORD_BROKEN)
            return;
        if (record.lease_ms != lock->record.lease_ms)
            log_info("%s has a lease of %" PRId64 " ms, which is used here", lock->path,
                     record.lease_ms);
        lock->record = record;
        lock->record_state = RECORD_OURS;
    } else if (event->data_len == 0) {
        lock->record_state = RECORD_NONE;
    } else {
        lock->record_state = RECORD_BROKEN;
        if (lock->phase != LOCK_LEAVING && !lock->failure)
            fail(lock, EXITCODE_CONFIG,
                 "%s holds %zu bytes that are not zkflock's: it is no lock; choose another LOCK",
                 lock->path, event->data_len);
    }
}

static void note_answer(struct lock *lock, const struct session_event *event)
{
    lock->rc[event->tag] = event->rc;
    switch (event->tag) {
    case TAG_ANCESTOR:
        /* Those above the lock may exist, and be out of our rights; the last answer tells. */
        if (lock->ancestor_rc == ZOK && event->rc != ZNODEEXISTS)
            lock->ancestor_rc = event->rc;
        break;
    case TAG_CREATE:
        if (event->rc == ZOK) {
            set_text(&lock->node, xasprintf("%s/%s", lock->path, strrchr(event->path, '/') + 1));
            lock->czxid = event->stat.czxid;
        }
        break;
    case TAG_CHILDREN:
        if (event->rc == ZOK)
            note_children(lock, event);
        break;
    case TAG_PARENT:
        if (event->rc == ZOK)
            note_parent(lock, event);
        break;
    case TAG_OWN:
        if (event->rc == ZOK)
            lock->czxid = event->stat.czxid;
        break;
    case TAG_PREDECESSOR:
        if (event->rc == ZOK)
            lock->predecessor_holds = contender_holds_exclusively(event->data, event->data_len);
        break;
    default:
        break;
    }
}

static void proof_answered(struct lock *lock, const struct session_event *event)
{
    if (lock->phase != LOCK_HELD || session_rc_unknown(event->rc))
        return;
    if (event->rc == ZOK) {
        if (event->sent > lock->proven_at)
            lock->proven_at = event->sent;
        return;
    }
    set_text(&lock->failure_text,
             event->rc == ZNONODE
                 ? xasprintf("the znode %s was deleted by somebody", lock->node)
                 : xasprintf("the ensemble refuses the proof of life: %s", zerror(event->rc)));
    lock->failure = EXITCODE_LOST;
    lock->phase = LOCK_LOST;
}

static void session_expired(struct lock *lock)
{
    lock->pending = 0;
    lock->retry = false;
    if (lock->phase == LOCK_HELD) {
        lock->failure = EXITCODE_LOST;
        set_text(&lock->failure_text, xstrdup("the ensemble has ended the session"));
        lock->phase = LOCK_LOST;
    } else if (lock->phase == LOCK_LEAVING) {
        left(lock);
    } else if (lock->phase != LOCK_LEFT && lock->phase != LOCK_LOST) {
        log_warning("the session expired while waiting for %s; joining the queue again",
                    lock->path);
        forget_place(lock);
        renew_guid(lock);
        lock->step = STEP_NONE;
        lock->phase = LOCK_JOINING;
        session_reopen(lock->session);
    }
}

void lock_handle(struct lock *lock, const struct session_event *event)
{
    switch (event->type) {
    case SESSION_CONNECTED:
        if (lock->retry)
            retry(lock);
        else if (lock->phase == LOCK_JOINING && lock->step == STEP_NONE)
            step_join(lock);
        else if (lock->phase == LOCK_HELD)
            lock_prove(lock);
        break;
    case SESSION_DISCONNECTED:
        break;
    case SESSION_EXPIRED:
        session_expired(lock);
        break;
    case SESSION_WATCH:
        if (lock->phase != LOCK_WAITING || lock->step != STEP_NONE ||
            strcmp(event->path, lock->predecessor) != 0)
            break;
        if (event->watch_type == ZOO_DELETED_EVENT)
            predecessor_gone(lock);
        else
            step_watch(lock);
        break;
    case SESSION_REPLY:
        if (event->tag == TAG_PROOF) {
            proof_answered(lock, event);
            break;
        }
        if (lock->pending == 0)
            break;
        if (session_rc_unknown(event->rc))
            lock->unknown = true;
        else
            note_answer(lock, event);
        if (--lock->pending > 0)
            break;
        lock->received = clock_now();
        if (!lock->unknown) {
            flight_landed(lock);
        } else {
            lock->retry = true;
            if (session_connected(lock->session))
                retry(lock);
        }
        break;
    }
}

/* ---- the rest of the interface ---- */

struct lock *lock_new(struct session *session, const char *path, int64_t lease_ms)
{
    struct lock *lock = xcalloc(1, sizeof(*lock));

    lock->session = session;
    lock->path = xstrdup(path);
    lock->record.lease_ms = lease_ms;
    lock->settled_at = CLOCK_NEVER;
    renew_guid(lock);
    return lock;
}

int64_t lock_tick(struct lock *lock)
{
    if (lock->phase != LOCK_SETTLING || lock->settled)
        return CLOCK_NEVER;
    if (clock_now() < lock->settled_at)
        return lock->settled_at;
    lock->settled = true;
    step_prove(lock);
    return CLOCK_NEVER;
}

void lock_prove(struct lock *lock)
{
    zoo_op_t op;

    if (lock->phase != LOCK_HELD || !session_connected(lock->session))
        return;
    zoo_check_op_init(&op, lock->node, -1);
    session_multi(lock->session, TAG_PROOF, &op, 1);
}

void lock_leave(struct lock *lock)
{
    if (lock->leaving)
        return;
    lock->leaving = true;
    begin_leaving(lock);
}

enum lock_phase lock_phase(const struct lock *lock)
{
    return lock->phase;
}

enum exitcode lock_failure(const struct lock *lock, const char **message)
{
    *message = lock->failure_text;
    return lock->failure;
}

size_t lock_ahead(const struct lock *lock)
{
    return lock->place.ahead;
}

int64_t lock_settled_at(const struct lock *lock)
{
    return lock->settled_at;
}

int64_t lock_proven_at(const struct lock *lock)
{
    return lock->proven_at;
}

int64_t lock_lease(const struct lock *lock)
{
    return lock->record.lease_ms * CLOCK_MS;
}

const char *lock_node(const struct lock *lock)
{
    return lock->node;
}

int64_t lock_token(const struct lock *lock)
{
    return lock->czxid;
}

void lock_free(struct lock *lock)
{
    if (!lock)
        return;
    free(lock->path);
    free(lock->node);
    free(lock->predecessor);
    free(lock->failure_text);
    free(lock);
}
