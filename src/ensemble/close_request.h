/*
 * The end of a session that nobody waits for.
 *
 * Closing a session is a transaction, and costs the server a sync even if the session has no znode
 * left.  The caller of zkflock would wait for it.  So would the next holder: a server that stands
 * alone answers no read that comes behind it before that sync.
 *
 * Why no helper process closes the session later: where process 1 reaps no orphans, as in many
 * containers, each helper would stay as a zombie for ever.
 *
 * The server finds that the client has hung up before the session is closed, counts that in
 * zk_connection_drop_count, and logs it (3.8.0: a warning with a stack trace; later: a line).
 */
#ifndef ZKFLOCK_CLOSE_REQUEST_H
#define ZKFLOCK_CLOSE_REQUEST_H

/*
 * Sends the request to close the session of a connection, and closes the descriptor without waiting
 * for the answer.  If the server does not get the request, the session expires.
 *
 * connection: from session_detach().
 */
void close_request_send(int connection);

#endif
