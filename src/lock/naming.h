/*
 * How contenders name their znodes, up to the sequence number that ZooKeeper appends.
 *
 *     curator       _c_<GUID>-lock-   Apache Curator's mutexes, and go-zookeeper's locks
 *                   _c_<GUID>-__READ__, _c_<GUID>-__WRIT__   Curator's readers and writers
 *     kazoo         <GUID>__lock__, <GUID>__rlock__
 *     plain:PREFIX  PREFIX   home-made recipes, which sort whole names; exclusive only
 *
 * Whatever the own style, zkflock takes everything that ends in a sequence number for a contender.
 * The others only know their own names: to share a queue with them takes theirs.
 */
#ifndef ZKFLOCK_NAMING_H
#define ZKFLOCK_NAMING_H

#include <stdbool.h>

enum naming_style { NAMING_CURATOR, NAMING_KAZOO, NAMING_PLAIN };

struct naming {
    enum naming_style style;
    const char *prefix; /* NAMING_PLAIN */
};

enum naming_kind {
    NAMING_MUTEX,  /* exclusive, as most are */
    NAMING_WRITER, /* exclusive, among readers */
    NAMING_READER,
    NAMING_PERMIT, /* of a semaphore */
    NAMING_UNFAIR, /* exclusive, and no queue: the same name for all */
};

/* Reads "curator", "kazoo" or "plain:PREFIX"; prefix points into text.  False: it is none. */
bool naming_parse(const char *text, struct naming *naming);

/* The name for a contender with this GUID, without a sequence; to be freed. */
char *naming_name(const struct naming *naming, enum naming_kind kind, const char *guid);

/* Returns true if names carry the GUID, so that an own znode is known by its name. */
bool naming_has_guid(const struct naming *naming, enum naming_kind kind);

#endif
