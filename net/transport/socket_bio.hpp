#pragma once
// OpenSSL reading and writing a non-blocking socket. Its own socket BIO uses write(), which raises
// SIGPIPE on a connection the peer has closed; this one uses send(MSG_NOSIGNAL). Private to net/.

struct ssl_st;

namespace gpuctl::net {

void attach_socket(ssl_st* ssl, int descriptor);

}  // namespace gpuctl::net
