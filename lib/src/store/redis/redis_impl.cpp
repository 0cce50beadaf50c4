// SPDX-License-Identifier: BSL-1.0
// Compiles Boost.Redis, once, and nothing else, so that a program that compiles it, too, can be
// linked.
#include <boost/redis/src.hpp>
