#include "ensemble/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "ensemble/fault.h"

static char *fault_of(const char *path, const char *secret, const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return xasprintf("%s: is no regular file", path);
    if (!secret)
        return NULL;
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return xasprintf("%s: belongs to uid %u, who could read and change the %s in it; give it "
                         "to the user who runs zkflock, or to root",
                         path, (unsigned int)st->st_uid, secret);
    if (st->st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH))
        return xasprintf("%s: others than its owner may read or write the %s in it; chmod go-rw",
                         path, secret);
    return NULL;
}

enum exitcode private_file_status(int error)
{
    return fault_is_lack(error) ? EXITCODE_OSERR : EXITCODE_CONFIG;
}

int private_file_open(const char *path, const char *secret, enum exitcode *status, char **fault)
{
    /* O_NONBLOCK: the open of a FIFO does not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    *status = EXITCODE_CONFIG;
    if (fd < 0 || fstat(fd, &st) < 0) {
        *status = private_file_status(errno);
        *fault = xasprintf("%s: cannot be read: %s", path, strerror(errno));
    } else {
        *fault = fault_of(path, secret, &st);
    }
    if (*fault && fd >= 0)
        close(fd);
    return *fault ? -1 : fd;
}
