/*
 * rekey FILE PORT: a server for TLS 1.3 on a free loopback port, which it prints.  FILE has its key
 * and certificate.  Passes one client on to the server at that port, in the clear.  After a line on
 * stdin it asks that client for new keys, again and again, and reads nothing more; prints "full"
 * when it cannot write any more, either.  Ends when stdin does.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

/* For so long nothing is written, ms. */
enum { FULL_AFTER = 500 };

static struct sockaddr_in address_of(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons((in_port_t)port)};
}

static int accept_client(void)
{
    const int small = 4096;
    const int segment = 536; /* by which the client's room to write is measured */
    struct sockaddr_in address = address_of(0);
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
    if (bind(listener, (struct sockaddr *)&address, len) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) < 0)
        return -1;
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

/* Passes on until there is a line; returns whether there was one. */
static int pass(SSL *ssl, int client, int server)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = client, .events = POLLIN},
                           {.fd = server, .events = POLLIN}};
    char bytes[16384]; /* a record at the most, so that none is left in OpenSSL */

    for (;;) {
        ssize_t len = 1;

        if (poll(fds, 3, -1) < 0)
            return 0;
        if (fds[0].revents)
            return read(STDIN_FILENO, bytes, sizeof(bytes)) > 0;
        if (fds[1].revents && (len = SSL_read(ssl, bytes, sizeof(bytes))) > 0)
            len = write(server, bytes, (size_t)len);
        if (len > 0 && fds[2].revents && (len = read(server, bytes, sizeof(bytes))) > 0)
            len = SSL_write(ssl, bytes, (int)len);
        if (len <= 0)
            return 0;
    }
}

static void ask_for_keys(SSL *ssl, int client)
{
    struct pollfd fd = {.fd = client, .events = POLLOUT};

    fcntl(client, F_SETFL, O_NONBLOCK);
    do {
        if (SSL_get_key_update_type(ssl) == SSL_KEY_UPDATE_NONE)
            SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(ssl);
    } while (poll(&fd, 1, FULL_AFTER) > 0 && !(fd.revents & (POLLERR | POLLHUP)));
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = address_of(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client;
    SSL *ssl;
    char byte;

    signal(SIGPIPE, SIG_IGN);
    if (argc != 3 || SSL_CTX_use_certificate_chain_file(context, argv[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, argv[1], SSL_FILETYPE_PEM) != 1)
        return 64;
    client = accept_client();
    ssl = SSL_new(context);
    SSL_set_fd(ssl, client);
    if (client < 0 || SSL_accept(ssl) != 1 ||
        connect(server, (struct sockaddr *)&address, sizeof(address)) < 0)
        return 69;
    if (!pass(ssl, client, server))
        return 1;
    ask_for_keys(ssl, client);
    puts("full");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}
