// Asio's own code, compiled once for the whole program (BOOST_ASIO_SEPARATE_COMPILATION). TLS is
// not Asio's here: net/byte_stream speaks to OpenSSL itself, so ssl/impl/src.hpp is not needed.

#include <boost/asio/impl/src.hpp>
