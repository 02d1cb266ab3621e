/*
 * Paths of znodes.
 */
#ifndef ZKFLOCK_ZNODE_H
#define ZKFLOCK_ZNODE_H

/*
 * The longest path taken, in bytes.  ZooKeeper would take more, but a contender's path has to fit
 * into messages, an environment and a log line.
 */
#define ZNODE_PATH_MAX 1024

/*
 * Tells what is wrong with a znode path that starts with a slash, in words that follow its name
 * ("has an empty part"); NULL if nothing is.  Chroots and locks are held to it.
 */
const char *znode_path_fault(const char *path);

/* Tells the same of the characters of a part of a path. */
const char *znode_character_fault(const char *text);

/* The path of the znode that the one at this path stands in, to be freed. */
char *znode_above(const char *path);

#endif
