// SPDX-License-Identifier: BSL-1.0
// Boost.JSON has no compiled library in Debian's packages: this file, and no other, compiles it.
#include <boost/json/src.hpp>
