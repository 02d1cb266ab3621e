/*
 * The pure decisions of the lock recipe: who is first, whom to watch, who left without a word.
 * No input or output, no memory of its own; unit-tested.
 *
 * Contenders are the children of the lock's znode whose names end in a ten-digit sequence number,
 * whatever comes before it: Curator's, kazoo's and home-made ones stand in the same queue.
 */
#ifndef ZKFLOCK_RECIPE_H
#define ZKFLOCK_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ZooKeeper counts sequences in a signed int and sticks at its end (ZOOKEEPER-4706). */
#define RECIPE_SEQUENCE_LIMIT (INT32_MAX - 1000)

/* Reads the sequence number that ends a name or path; returns whether there is one. */
bool recipe_sequence(const char *name, int32_t *sequence);

/* Where a contender stands. The strings belong to the list that was asked about. */
struct recipe_place {
    bool found;              /* the own name is in the list; the rest holds only then */
    size_t ahead;            /* contenders before the own one */
    const char *first;       /* the foremost contender */
    const char *predecessor; /* the one right before the own, NULL when it is first */
};

/* Finds the place of own, an exclusive contender, among the children of a lock. */
struct recipe_place recipe_place(char *const *children, size_t count, const char *own);

/* What the Stat of a lock's znode says of its children. */
struct recipe_census {
    int32_t version;
    int32_t cversion;
    int32_t children;
};

/*
 * How many contenders left without saying so, ever, less those already squared.
 *
 * ZooKeeper counts cversion = 2 * created - children as clients see it, so departed = created -
 * children; every clean departure adds one to version in the same transaction.  All arithmetic is
 * modulo 2^32: a result of 2^31 and more means that the count cannot be right.
 */
uint32_t recipe_vanished(struct recipe_census census, uint32_t base);

/* The base that makes recipe_vanished() 0 once the record has been set on top of this census. */
uint32_t recipe_base_for_adoption(struct recipe_census census);

/* Whether a count can be right at all. */
bool recipe_plausible(uint32_t vanished);

#endif
