#include "remove.h"

#include "exitcode.h"

int remove_lock(const struct options *options)
{
    log_error("%s is not there yet", action_name(options));
    return EXITCODE_INTERNAL;
}
