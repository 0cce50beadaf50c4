// SPDX-License-Identifier: BSL-1.0
// The TLS of Boost.Asio, compiled once for all parts that use it. Nothing else is compiled here, so
// that a program that compiles it, too, can be linked: the linker then leaves this file out.
#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/ssl/impl/src.hpp>
#endif
