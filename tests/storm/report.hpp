// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_REPORT_HPP
#define MORTISE_TESTS_STORM_REPORT_HPP

#include "storm/round.hpp"
#include "storm/settings.hpp"

namespace mortise::storm {

/// Prints the result of a storm: text for people, then the figures on one line of JSON.
void print(const settings& how, const round& result);

}  // namespace mortise::storm

#endif
