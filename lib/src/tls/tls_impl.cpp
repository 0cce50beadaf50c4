// SPDX-License-Identifier: BSL-1.0
// The TLS of Boost.Asio, compiled once for everything that speaks it. Nothing else is compiled
// here, so that a program that compiles it, too, can be linked.
#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/ssl/impl/src.hpp>
#endif
