/*
 * The inside of struct servers: servers.c reads and writes it as text, servers_resolve.c looks the
 * names up.
 */
#ifndef ZKFLOCK_SERVERS_STATE_H
#define ZKFLOCK_SERVERS_STATE_H

#include <stddef.h>

#include "ensemble/servers.h"

struct host {
    char *name;
    char *port;
    struct lookup *lookup; /* of the name, while it is under way; else NULL */
};

struct address {
    char *literal; /* "ADDRESS:PORT", the port last even for IPv6 */
    char **names;  /* as the user called it */
    size_t names_len;
};

struct servers {
    char *text;
    char *chroot;
    struct host *hosts;
    size_t hosts_len;
    struct address *addresses;
    size_t addresses_len;
    bool warned; /* of names that cannot be resolved */
};

/* Adds ADDRESS:PORT, unless it is there already, as one of this name. */
void servers_add_address(struct servers *servers, const char *address, const struct host *host);

void servers_forget_addresses(struct servers *servers);

#endif
