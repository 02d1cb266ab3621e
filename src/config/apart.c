#include "config/apart.h"

#include <stddef.h>

const struct apart apart_rows[] = {
    {APART_SHARED | APART_PLAIN,
     {CHOICE_KIND, CHOICE_NODE_STYLE},
     "--shared does not go with --node-style plain, whose names do not tell readers from others; "
     "use curator or kazoo"},
    {APART_PERMITS | APART_SHARED,
     {CHOICE_KIND},
     "--permits does not go with --shared or --exclusive: a permit is neither"},
    {APART_PERMITS | APART_EXCLUSIVE,
     {CHOICE_KIND},
     "--permits does not go with --shared or --exclusive: a permit is neither"},
    {APART_PERMITS | APART_UNFAIR,
     {CHOICE_KIND},
     "--permits does not go with --unfair: permits are given out in a queue"},
    {APART_PERMITS | APART_STYLE,
     {CHOICE_KIND, CHOICE_NODE_STYLE},
     "--permits does not go with --node-style: semaphores are Curator's"},
    {APART_ONCE_PER | APART_PERMITS,
     {CHOICE_KIND, CHOICE_ONCE_PER},
     "--once-per does not go with --permits: several would find at the same time that a run is "
     "due"},
    {APART_ONCE_PER | APART_SHARED,
     {CHOICE_KIND, CHOICE_ONCE_PER},
     "--once-per does not go with --shared: several would find at the same time that a run is due"},
    {APART_UNFAIR | APART_SHARED,
     {CHOICE_KIND},
     "--unfair does not go with --shared: without a queue readers would keep writers out for ever"},
    {APART_UNFAIR | APART_EXCLUSIVE,
     {CHOICE_KIND},
     "--unfair does not go with --exclusive, which says how a place in the queue is named"},
    {APART_UNFAIR | APART_STYLE,
     {CHOICE_KIND, CHOICE_NODE_STYLE},
     "--unfair does not go with --node-style: all of its kind use one name"},
    {APART_HOLD | APART_CONFLICT_0,
     {CHOICE_CONFLICT_STATUS},
     "-E 0 does not go with --hold: 0 means that the lock is held"},
    {APART_NOW | APART_EVERY_TIME,
     {CHOICE_OWN},
     "--now goes with --once-per alone: without it, every run is a run now; leave --now out"},
    {APART_RETRY_DELAY | APART_NO_RETRY,
     {CHOICE_OWN},
     "--retry-delay goes with --retry alone: without it, nothing is tried again"},
    {APART_SKIP | APART_EVERY_TIME,
     {CHOICE_OWN},
     "--skip-exit-code goes with --once-per alone: without it, every run is due"},
    {APART_NAMES | APART_JSON, {CHOICE_OWN}, "--names does not go with --json"},
    {APART_NAMES | APART_WATCH, {CHOICE_OWN}, "--names does not go with --watch"},
    {APART_HELD | APART_WATCH,
     {CHOICE_OWN},
     "--held does not go with --watch, which tells of locks that come free, too"},
    {0, {CHOICE_OWN}, NULL},
};

static int features_of(const struct options *options)
{
    bool shown = options->action == ACTION_SHOW_CONFIG;

    return (options->kind == NAMING_READER ? APART_SHARED : 0) |
           (options->kind == NAMING_WRITER ? APART_EXCLUSIVE : 0) |
           (options->unfair ? APART_UNFAIR : 0) | (options->permits ? APART_PERMITS : 0) |
           (options->typed[CHOICE_NODE_STYLE] && options->naming.style != NAMING_CURATOR
                ? APART_STYLE
                : 0) |
           (options->naming.style == NAMING_PLAIN ? APART_PLAIN : 0) |
           (options->once_per ? APART_ONCE_PER : APART_EVERY_TIME) |
           (options->now ? APART_NOW : 0) | (options->action == ACTION_HOLD ? APART_HOLD : 0) |
           (options->typed[CHOICE_CONFLICT_STATUS] && options->conflict_status == 0
                ? APART_CONFLICT_0
                : 0) |
           (options->names_only ? APART_NAMES : 0) | (options->held_only ? APART_HELD : 0) |
           (options->json ? APART_JSON : 0) | (options->watch ? APART_WATCH : 0) |
           (options->retries || options->typed[CHOICE_RETRY] ? 0 : APART_NO_RETRY) |
           (options->typed[CHOICE_RETRY_DELAY] && !shown ? APART_RETRY_DELAY : 0) |
           (options->typed[CHOICE_SKIP_STATUS] && !shown ? APART_SKIP : 0);
}

const struct apart *apart_find(const struct options *options)
{
    int features = features_of(options);

    for (const struct apart *row = apart_rows; row->sentence; row++)
        if ((row->features & ~features) == 0)
            return row;
    return NULL;
}
