// SPDX-License-Identifier: BSL-1.0
// Boost.JSON has no compiled library in Debian's packages: this file compiles it for whoever links
// this library (ADR 0006).
#include <boost/json/src.hpp>
