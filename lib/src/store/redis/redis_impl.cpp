// SPDX-License-Identifier: BSL-1.0
// Compiles Boost.Redis, once, and nothing else, so that a program that compiles it, too, can be
// linked.
#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/ssl/impl/src.hpp>
#endif
#include <boost/redis/src.hpp>
