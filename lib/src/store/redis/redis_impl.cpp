// SPDX-License-Identifier: BSL-1.0
// Boost.Redis is compiled here, once; and nothing else is, so that a program that compiles it, too,
// can be linked.
#include <boost/redis/src.hpp>
