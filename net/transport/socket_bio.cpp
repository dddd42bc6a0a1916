#include "net/transport/socket_bio.hpp"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "scheduler/base/check.hpp"

namespace gpuctl::net {

namespace {

int descriptor_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool may_be_repeated(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

int write_socket(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    const auto sent =
        ::send(descriptor_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && may_be_repeated(errno)) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
}

int read_socket(BIO* bio, char* to, int size) {
    BIO_clear_retry_flags(bio);
    const auto received = ::recv(descriptor_of(bio), to, static_cast<std::size_t>(size), 0);
    if (received < 0 && may_be_repeated(errno)) BIO_set_retry_read(bio);
    if (received == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return static_cast<int>(received);
}

long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    return 0;
}

BIO_METHOD* make_method() {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gpuctl socket");
    GPUCTL_CHECK(method != nullptr, "OpenSSL allocates a BIO method");
    BIO_meth_set_write(method, write_socket);
    BIO_meth_set_read(method, read_socket);
    BIO_meth_set_ctrl(method, control);
    return method;
}

}  // namespace

void attach_socket(ssl_st* ssl, int descriptor) {
    static BIO_METHOD* const method = make_method();
    BIO* bio = BIO_new(method);
    GPUCTL_CHECK(bio != nullptr, "OpenSSL allocates a BIO");
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
}

}  // namespace gpuctl::net
