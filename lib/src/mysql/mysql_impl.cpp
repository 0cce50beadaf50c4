// SPDX-License-Identifier: BSL-1.0
// Compiles Boost.MySQL, once, and nothing else, so that a program that compiles it, too, can be
// linked.
#include <boost/mysql/src.hpp>
