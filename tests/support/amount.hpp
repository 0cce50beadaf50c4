// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_AMOUNT_HPP
#define MORTISE_TESTS_SUPPORT_AMOUNT_HPP

#include <cstdint>
#include <cstdlib>

namespace mortise::test {

/// How many rounds, seeds or seconds a test takes: `in_test` for `./run test`, `in_proof` for
/// `./run proof` (MORTISE_PROOF is set), or what the environment variable `name` says.
inline std::uint64_t amount(const char* name, std::uint64_t in_test, std::uint64_t in_proof) {
    if (const char* const text = std::getenv(name))
        return std::strtoull(text, nullptr, 10);
    return std::getenv("MORTISE_PROOF") != nullptr ? in_proof : in_test;
}

}  // namespace mortise::test

#endif
