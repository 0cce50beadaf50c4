// SPDX-License-Identifier: BSL-1.0
// Compiles Boost.JSON, in this file only: Debian's packages have no library of it.
#include <boost/json/src.hpp>
