// SPDX-License-Identifier: BSL-1.0
// Boost.Asio, compiled once for every program that links mortise_coro. Empty when the program
// prefers to have Asio in its own files (MORTISE_ASIO_SEPARATE_COMPILATION=OFF).
#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/impl/src.hpp>
#endif
