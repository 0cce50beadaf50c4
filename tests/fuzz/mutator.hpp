// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_MUTATOR_HPP
#define MORTISE_TESTS_FUZZ_MUTATOR_HPP

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace mortise::fuzz {

using bytes = std::vector<std::uint8_t>;

/// Makes new inputs out of known ones. The same seed makes the same inputs.
class mutator {
public:
    static constexpr std::size_t size_max = 4096;

    /// `known` outlives it.
    mutator(const std::vector<bytes>& known, std::uint64_t seed) : known_(known), random_(seed) {}

    /// One of the known inputs, changed in a few places.
    bytes next();

private:
    std::size_t pick(std::size_t of);
    std::uint8_t some_byte();
    void change(bytes& mutant);
    void insert(bytes& mutant);
    void erase(bytes& mutant);
    void repeat(bytes& mutant);
    void splice(bytes& mutant);
    void set_number(bytes& mutant);

    const std::vector<bytes>& known_;
    std::mt19937_64 random_;
};

}  // namespace mortise::fuzz

#endif
