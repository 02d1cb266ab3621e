#include "break.h"

#include "exitcode.h"

int break_ask(const struct options *options)
{
    log_error("%s is not there yet", action_name(options));
    return EXITCODE_INTERNAL;
}

int break_now(const struct options *options)
{
    return break_ask(options);
}
