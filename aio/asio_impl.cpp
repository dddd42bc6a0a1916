// Asio's own code, compiled once for the whole program (BOOST_ASIO_SEPARATE_COMPILATION). TLS is
// not Asio's here: net/transport/byte_stream.cpp speaks to OpenSSL itself.

#include <boost/asio/impl/src.hpp>
