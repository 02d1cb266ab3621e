/*
 * What tests ask of ZooKeeper without zkflock.
 *
 *   zk SERVERS ls PATH            children, sorted by sequence number, a line each
 *   zk SERVERS get PATH           the data
 *   zk SERVERS stat PATH          version cversion numChildren ephemeralOwner czxid
 *   zk SERVERS mtime PATH         when it was last written, by the ensemble's clock, in ms
 *   zk SERVERS create PATH [DATA] with parents
 *   zk SERVERS create-kind KIND PATH  container, ephemeral (held until stdin ends), null (without
 *                                 data), ephemeral-null
 *   zk SERVERS contend PATH PREFIX N [DATA]  N contenders of one session with these names, until
 *                                 stdin ends; prints "made"
 *   zk SERVERS set PATH DATA
 *   zk SERVERS delete PATH
 *   zk SERVERS deny PATH PERMS [PATH PERMS]...  leaves PERMS (letters of rwcda) to everybody; with
 * $ZK_DIGEST, all rights to that user
 *   zk SERVERS acl PATH           the ACL, as zkCli.sh writes it
 *   zk SERVERS setacl PATH ENTRY... gives it this ACL; entries are SCHEME:ID:PERMS
 *   zk SERVERS tree PATH          PATH and all znodes below it, a line each, with their ACLs
 *   zk SERVERS await-count PATH N [SECONDS]  polls until PATH has N children
 *   zk SERVERS last-seen PATH SINCE  waits until PATH is gone; prints when it was last there, or
 * SINCE if it is gone at the first look; in ms of CLOCK_BOOTTIME, in steps of 10 as in /proc/uptime
 *   zk SERVERS vanish PATH        waits for a line on stdin, then deletes PATH, as the end of its
 *                                 session does; prints when it was last there, like last-seen
 *   zk SERVERS take-over PATH     replaces the znode by an ephemeral one of this session, in one
 *                                 transaction, until stdin ends; prints "made"
 *   zk SERVERS leftovers [SECONDS]  polls until no contender is left anywhere; lists them if not
 *
 * $ZK_DIGEST: USER:PASSWORD to authenticate with.
 *
 * Exits with 1 and a message if a request fails.  It is not a script because the suite calls it
 * thousands of times.
 */
#include <err.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define THREADED /* for the calls that wait for their answer */
#include <zookeeper/zookeeper.h>

enum { DATA_MAX = 2 << 20, CONNECT_SECONDS = 20, SESSION_MS = 10000 };

static zhandle_t *zk;
static sem_t connected;
static sem_t created;
static char data[DATA_MAX];

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t boottime(void)
{
    return clock_ms(CLOCK_BOOTTIME) / 10 * 10;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void must(int rc, const char *what, const char *path)
{
    if (rc != ZOK)
        errx(1, "%s %s: %s", what, path, zerror(rc));
}

static void until_stdin_ends(void)
{
    puts("made");
    fflush(stdout);
    while (getchar() != EOF)
        ;
}

/* ---- the session ---- */

static void session_changed(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle, (void)path, (void)context;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        sem_post(&connected);
}

static void connect_to(const char *servers)
{
    const char *digest = getenv("ZK_DIGEST");
    struct timespec until;

    zoo_set_debug_level((ZooLogLevel)0);
    sem_init(&connected, 0, 0);
    zk = zookeeper_init(servers, session_changed, SESSION_MS, NULL, NULL, 0);
    if (!zk)
        err(1, "%s", servers);
    if (digest)
        zoo_add_auth(zk, "digest", digest, (int)strlen(digest), NULL, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CONNECT_SECONDS;
    if (sem_timedwait(&connected, &until))
        errx(1, "%s: no contact within %d s", servers, CONNECT_SECONDS);
}

/* ---- one znode ---- */

/* Reads into data; returns the length. */
static size_t get(const char *path)
{
    int len = DATA_MAX;

    must(zoo_get(zk, path, 0, data, &len, NULL), "get", path);
    return len < 0 ? 0 : (size_t)len;
}

/* Returns true if the znode exists. */
static bool look_at(const char *path, struct Stat *stat)
{
    int rc = zoo_exists(zk, path, 0, stat);

    if (rc != ZNONODE)
        must(rc, "stat", path);
    return rc == ZOK;
}

static struct Stat stat_of(const char *path)
{
    struct Stat stat;

    if (!look_at(path, &stat))
        errx(1, "%s is not there", path);
    return stat;
}

static void make_parents(const char *path)
{
    char *parent = strdup(path);

    for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        int rc;

        *slash = '\0';
        rc = zoo_create(zk, parent, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
        if (rc != ZNODEEXISTS)
            must(rc, "create", parent);
        *slash = '/';
    }
    free(parent);
}

/* text NULL: the znode has no data. */
static void create(const char *path, const char *text, int mode)
{
    make_parents(path);
    must(zoo_create(zk, path, text, text ? (int)strlen(text) : -1, &ZOO_OPEN_ACL_UNSAFE, mode, NULL,
                    0),
         "create", path);
}

static void create_kind(const char *kind, const char *path)
{
    if (strcmp(kind, "container") == 0) {
        create(path, "", ZOO_CONTAINER);
    } else if (strcmp(kind, "null") == 0) {
        create(path, NULL, ZOO_PERSISTENT);
    } else {
        create(path, strcmp(kind, "ephemeral-null") == 0 ? NULL : "", ZOO_EPHEMERAL);
        until_stdin_ends();
    }
}

/* In the order of their bits, from ZOO_PERM_READ on. */
static const char letters[] = "rwcda";

static void print_acl(const char *path)
{
    struct ACL_vector acl;
    struct Stat st;

    must(zoo_get_acl(zk, path, &acl, &st), "read the ACL of", path);
    for (int i = 0; i < acl.count; i++) {
        printf("%s%s:%s:", i ? "," : "", acl.data[i].id.scheme, acl.data[i].id.id);
        for (int bit = 0; letters[bit]; bit++)
            if (acl.data[i].perms & ZOO_PERM_READ << bit)
                putchar(letters[bit]);
    }
    putchar('\n');
    deallocate_ACL_vector(&acl);
}

static void deny(const char *path, const char *left)
{
    struct ACL entries[2] = {{.id = ZOO_ANYONE_ID_UNSAFE},
                             {.id = ZOO_AUTH_IDS, .perms = ZOO_PERM_ALL}};
    struct ACL_vector acl = {.count = getenv("ZK_DIGEST") ? 2 : 1, .data = entries};

    for (int i = 0; letters[i]; i++)
        if (strchr(left, letters[i]))
            entries[0].perms |= ZOO_PERM_READ << i;
    must(zoo_set_acl(zk, path, -1, &acl), "set the ACL of", path);
}

static void set_acl(const char *path, char **entries)
{
    struct ACL all[4] = {0};
    struct ACL_vector acl = {.data = all};

    for (int i = 0; entries[i]; i++, acl.count++) {
        char *perms = strrchr(entries[i], ':');

        for (int bit = 0; letters[bit]; bit++)
            if (strchr(perms, letters[bit]))
                all[i].perms |= ZOO_PERM_READ << bit;
        *perms = '\0';
        all[i].id.scheme = strsep(&entries[i], ":");
        all[i].id.id = entries[i];
    }
    must(zoo_set_acl(zk, path, -1, &acl), "set the ACL of", path);
}

static void print_tree(const char *path)
{
    struct String_vector children = {0};

    printf("%s ", path);
    print_acl(path);
    must(zoo_get_children(zk, path, 0, &children), "list", path);
    for (int i = 0; i < children.count; i++) {
        char *child;

        if (asprintf(&child, "%s/%s", path, children.data[i]) < 0)
            err(1, NULL);
        print_tree(child);
        free(child);
    }
    deallocate_String_vector(&children);
}

static void take_over(const char *path)
{
    zoo_op_t ops[2];
    zoo_op_result_t results[2];
    char made[1024];
    size_t len = get(path);

    zoo_delete_op_init(&ops[0], path, -1);
    zoo_create_op_init(&ops[1], path, data, (int)len, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, made,
                       sizeof(made));
    must(zoo_multi(zk, 2, ops, results), "take over", path);
    until_stdin_ends();
}

/* ---- contenders ---- */

static void was_created(int rc, const char *path, const void *context)
{
    (void)path;
    must(rc, "create", context);
    sem_post(&created);
}

static void contend(const char *path, const char *prefix, int count, const char *text)
{
    char *name;

    if (asprintf(&name, "%s/%s", path, prefix) < 0)
        err(1, NULL);
    sem_init(&created, 0, 0);
    make_parents(name);
    for (int i = 0; i < count; i++)
        must(zoo_acreate(zk, name, text, (int)strlen(text), &ZOO_OPEN_ACL_UNSAFE,
                         ZOO_EPHEMERAL_SEQUENTIAL, was_created, name),
             "create", name);
    for (int i = 0; i < count; i++)
        sem_wait(&created);
    until_stdin_ends();
    free(name);
}

/* Returns the last ten characters, a contender's number; all of a shorter name. */
static const char *end_of(const char *name)
{
    size_t len = strlen(name);

    return len > 10 ? name + len - 10 : name;
}

static bool is_contender(const char *name)
{
    return strspn(end_of(name), "0123456789") == 10;
}

static bool is_ephemeral(const char *path)
{
    struct Stat stat;

    return look_at(path, &stat) && stat.ephemeralOwner != 0;
}

/* Returns how many contenders are below path, as far as all may see; prints them if tell. */
static int contenders(const char *path, bool tell)
{
    struct String_vector children = {0};
    int rc = zoo_get_children(zk, path, 0, &children);
    int found = 0;

    if (rc == ZNONODE || rc == ZNOAUTH)
        return 0;
    must(rc, "list", path);
    for (int i = 0; i < children.count; i++) {
        char *full;

        if (asprintf(&full, "%s/%s", path[1] ? path : "", children.data[i]) < 0)
            err(1, NULL);
        if (is_contender(full) && is_ephemeral(full)) {
            if (tell)
                puts(full);
            found++;
        } else if (strcmp(full, "/zookeeper") != 0) {
            found += contenders(full, tell);
        }
        free(full);
    }
    deallocate_String_vector(&children);
    return found;
}

static int leftovers(double seconds)
{
    int64_t deadline = clock_ms(CLOCK_MONOTONIC) + (int64_t)(seconds * 1000);

    while (contenders("/", false) > 0) {
        if (clock_ms(CLOCK_MONOTONIC) > deadline)
            return contenders("/", true) > 0;
        pause_ms(20);
    }
    return 0;
}

/* ---- children ---- */

static int by_number(const void *a, const void *b)
{
    const char *x = *(char *const *)a;
    const char *y = *(char *const *)b;
    int order = strcmp(end_of(x), end_of(y));

    return order ? order : strcmp(x, y);
}

static void list(const char *path)
{
    struct String_vector children = {0};

    must(zoo_get_children(zk, path, 0, &children), "list", path);
    qsort(children.data, (size_t)children.count, sizeof(children.data[0]), by_number);
    for (int i = 0; i < children.count; i++)
        puts(children.data[i]);
    deallocate_String_vector(&children);
}

static void await_count(const char *path, int wanted, double seconds)
{
    int64_t deadline = clock_ms(CLOCK_MONOTONIC) + (int64_t)(seconds * 1000);
    struct Stat stat;
    int count;

    while ((count = look_at(path, &stat) ? stat.numChildren : 0) != wanted) {
        if (clock_ms(CLOCK_MONOTONIC) > deadline)
            errx(1, "%s has %d children, not %d", path, count, wanted);
        pause_ms(20);
    }
}

/* ---- time ---- */

static void last_seen(const char *path, int64_t seen)
{
    struct Stat stat;

    for (int64_t asked = boottime(); look_at(path, &stat); asked = boottime()) {
        seen = asked;
        pause_ms(5);
    }
    printf("%lld\n", (long long)seen);
}

static void vanish(const char *path)
{
    int64_t seen;

    while (getchar() != '\n')
        ;
    seen = boottime();
    must(zoo_delete(zk, path, -1), "delete", path);
    printf("%lld\n", (long long)seen);
}

/* ---- verbs ---- */

static void print_stat(const char *path)
{
    struct Stat stat = stat_of(path);

    printf("%d %d %d %lld %lld\n", stat.version, stat.cversion, stat.numChildren,
           (long long)stat.ephemeralOwner, (long long)stat.czxid);
}

static double number(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (!*text || *end)
        errx(64, "no number: %s", text);
    return value;
}

static int act(const char *verb, char **words)
{
    const char *path = words[0] ? words[0] : "";
    const char *second = *path && words[1] ? words[1] : "";
    bool third = *second && words[2];

    if (strcmp(verb, "ls") == 0)
        list(path);
    else if (strcmp(verb, "get") == 0)
        fwrite(data, 1, get(path), stdout);
    else if (strcmp(verb, "stat") == 0)
        print_stat(path);
    else if (strcmp(verb, "mtime") == 0)
        printf("%lld\n", (long long)stat_of(path).mtime);
    else if (strcmp(verb, "create") == 0)
        create(path, second, ZOO_PERSISTENT);
    else if (strcmp(verb, "create-kind") == 0)
        create_kind(path, second);
    else if (strcmp(verb, "contend") == 0)
        contend(path, second, (int)number(words[2]), words[3] ? words[3] : "");
    else if (strcmp(verb, "set") == 0)
        must(zoo_set(zk, path, second, (int)strlen(second), -1), "set", path);
    else if (strcmp(verb, "delete") == 0)
        must(zoo_delete(zk, path, -1), "delete", path);
    else if (strcmp(verb, "acl") == 0)
        print_acl(path);
    else if (strcmp(verb, "setacl") == 0)
        set_acl(path, words + 1);
    else if (strcmp(verb, "deny") == 0)
        for (; words[0] && words[1]; words += 2)
            deny(words[0], words[1]);
    else if (strcmp(verb, "tree") == 0)
        print_tree(path);
    else if (strcmp(verb, "await-count") == 0)
        await_count(path, (int)number(second), third ? number(words[2]) : 20);
    else if (strcmp(verb, "last-seen") == 0)
        last_seen(path, (int64_t)number(second));
    else if (strcmp(verb, "vanish") == 0)
        vanish(path);
    else if (strcmp(verb, "take-over") == 0)
        take_over(path);
    else if (strcmp(verb, "leftovers") == 0)
        return leftovers(*path ? number(path) : 5);
    else
        errx(64, "no such verb: %s", verb);
    return 0;
}

int main(int argc, char **argv)
{
    int status;

    if (argc < 3 || (argc < 4 && strcmp(argv[2], "leftovers") != 0))
        errx(64, "zk SERVERS VERB PATH ...");
    connect_to(argv[1]);
    status = act(argv[2], argv + 3);
    zookeeper_close(zk);
    return status;
}
