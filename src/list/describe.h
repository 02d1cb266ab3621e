/*
 * Contenders in words, for messages.
 */
#ifndef ZKFLOCK_DESCRIBE_H
#define ZKFLOCK_DESCRIBE_H

#include "list/view.h"

#define DESCRIBE_SIZE 512

/*
 * Who that is: "ci@runner7 pid 4711: make deploy", as it has said itself; or the name of the znode,
 * for one that is not zkflock's.  Printable ASCII, whatever others wrote.  Returns text.
 */
const char *describe_contender(const struct view_contender *contender, char text[DESCRIBE_SIZE]);

/* Whether zkflock has made it: others may neither listen to requests nor look after their znodes.
 */
bool describe_is_ours(const struct view_contender *contender);

#endif
