/*
 * What any client has to do at the least: connect, make an ephemeral znode, list, close.  The
 * whole-process yardstick for zkflock on a free lock.
 *
 *     bare SERVERS PATH
 */
#define THREADED
#include <stdio.h>
#include <stdlib.h>

#include <zookeeper/zookeeper.h>

static void ignore(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

int main(int argc, char **argv)
{
    struct String_vector names;
    char made[512];
    char own[512];

    if (argc != 3)
        return 64;
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);

    zhandle_t *handle = zookeeper_init(argv[1], ignore, 15000, NULL, NULL, 0);

    if (!handle)
        return 69;
    snprintf(own, sizeof(own), "%s/x-", argv[2]);
    if (zoo_create(handle, own, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, made,
                   sizeof(made)) != ZOK)
        return 70;
    if (zoo_get_children(handle, argv[2], 0, &names) != ZOK)
        return 70;
    deallocate_String_vector(&names);
    zookeeper_close(handle);
    return 0;
}
