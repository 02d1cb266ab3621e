/*
 * assert(3) for debug builds, which -DZKFLOCK_DEBUG makes, as SANITIZE does in the Makefile; in
 * others nothing is evaluated.
 */
#ifndef ZKFLOCK_DEBUG_H
#define ZKFLOCK_DEBUG_H

#ifdef ZKFLOCK_DEBUG
#include <assert.h>
#else
#define assert(expression) ((void)(0 && (expression)))
#endif

#endif
