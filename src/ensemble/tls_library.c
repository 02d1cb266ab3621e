#include "ensemble/tls_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* The version of the interface is part of the name. */
#define LIBRARY "libssl.so.3"

static struct tls_library library;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define X(name) {#name, offsetof(struct tls_library, name)},
    TLS_FUNCTIONS(X)
#undef X
};

/* Finds functions of libcrypto, too: dlsym(3) also searches the libraries that libssl needs. */
static bool load(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return false;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = dlsym(handle, functions[i].name);

        if (!function)
            return false;
        *(void **)((char *)&library + functions[i].offset) = function;
    }
    return true;
}

const struct tls_library *tls_library_load(void)
{
    static bool loaded;

    loaded = loaded || load();
    return loaded ? &library : NULL;
}
