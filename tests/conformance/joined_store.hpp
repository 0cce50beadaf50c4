// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_JOINED_STORE_HPP
#define MORTISE_TESTS_CONFORMANCE_JOINED_STORE_HPP

#include "mortise/store.hpp"

#include <memory>

namespace mortise::test {

/// A store with several proof numbers as one that has the number 0 only: its session is one at each
/// number. For suites at the port, whose sessions hold locks of any name.
std::unique_ptr<store> make_joined(std::unique_ptr<store> inner, proof_number numbers);

}  // namespace mortise::test

#endif
