// SPDX-License-Identifier: BSL-1.0
// Compiles Boost.JSON into this library, because Debian's packages have no compiled one (ADR 0006).
#include <boost/json/src.hpp>
