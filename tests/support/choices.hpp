// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_CHOICES_HPP
#define MORTISE_TESTS_SUPPORT_CHOICES_HPP

#include "support/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <variant>

namespace mortise::test {

/// The source of the choices of a random walk: a seed, or bytes that a fuzzer makes.
class choices {
public:
    explicit choices(std::uint64_t seed) : from_(std::mt19937_64(seed)) {}
    explicit choices(byte_source bytes) noexcept : from_(bytes) {}

    /// Below `of`, which is at least 1.
    unsigned pick(std::size_t of) {
        if (auto* const bytes = std::get_if<byte_source>(&from_))
            return static_cast<unsigned>(bytes->pick(of));
        using distribution = std::uniform_int_distribution<unsigned>;
        const distribution::param_type range(0, static_cast<unsigned>(of) - 1);
        return distribution()(std::get<std::mt19937_64>(from_), range);
    }

    /// Whether the bytes are used up; never so with a seed.
    bool used_up() const noexcept {
        const auto* const bytes = std::get_if<byte_source>(&from_);
        return bytes && bytes->used_up();
    }

private:
    std::variant<std::mt19937_64, byte_source> from_;
};

}  // namespace mortise::test

#endif
