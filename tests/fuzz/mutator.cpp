// SPDX-License-Identifier: BSL-1.0
#include "fuzz/mutator.hpp"

#include <algorithm>
#include <array>

namespace mortise::fuzz {

bytes mutator::next() {
    bytes mutant = known_.empty() ? bytes() : known_[pick(known_.size())];
    const std::size_t changes = 1 + pick(5);
    for (std::size_t i = 0; i < changes; ++i) {
        switch (pick(8)) {
        case 0:
        case 1:
        case 2:
            change(mutant);
            break;
        case 3:
            insert(mutant);
            break;
        case 4:
            erase(mutant);
            break;
        case 5:
            repeat(mutant);
            break;
        case 6:
            splice(mutant);
            break;
        default:
            set_number(mutant);
            break;
        }
    }
    mutant.resize(std::min(mutant.size(), size_max));
    return mutant;
}

std::size_t mutator::pick(std::size_t of) {
    // Not std::uniform_int_distribution: the inputs shall be the same with every library.
    return static_cast<std::size_t>(random_() % of);
}

std::uint8_t mutator::some_byte() {
    constexpr std::array<std::uint8_t, 10> telling{
        0, 1, 0x7f, 0x80, 0xff, '%', '\\', '"', '\n', '0'};
    return pick(4) == 0 ? telling[pick(telling.size())] : static_cast<std::uint8_t>(pick(256));
}

void mutator::change(bytes& mutant) {
    if (mutant.empty())
        return insert(mutant);
    std::uint8_t& at = mutant[pick(mutant.size())];
    at = pick(2) == 0 ? some_byte() : static_cast<std::uint8_t>(at ^ (1u << pick(8)));
}

void mutator::insert(bytes& mutant) {
    const auto at = static_cast<std::ptrdiff_t>(pick(mutant.size() + 1));
    bytes fresh(1 + pick(pick(8) == 0 ? 64 : 4));
    std::generate(fresh.begin(), fresh.end(), [this] { return some_byte(); });
    mutant.insert(mutant.begin() + at, fresh.begin(), fresh.end());
}

void mutator::erase(bytes& mutant) {
    if (mutant.empty())
        return;
    const std::size_t at = pick(mutant.size());
    const std::size_t size = 1 + pick(std::min<std::size_t>(mutant.size() - at, 16));
    const auto first = mutant.begin() + static_cast<std::ptrdiff_t>(at);
    mutant.erase(first, first + static_cast<std::ptrdiff_t>(size));
}

void mutator::repeat(bytes& mutant) {
    if (mutant.empty())
        return;
    const std::size_t at = pick(mutant.size());
    const std::size_t size = 1 + pick(std::min<std::size_t>(mutant.size() - at, 64));
    const auto first = mutant.begin() + static_cast<std::ptrdiff_t>(at);
    const bytes part(first, first + static_cast<std::ptrdiff_t>(size));
    mutant.insert(mutant.begin() + static_cast<std::ptrdiff_t>(at), part.begin(), part.end());
}

// The beginning of one and the end of another.
void mutator::splice(bytes& mutant) {
    if (known_.empty())
        return;
    const bytes& other = known_[pick(known_.size())];
    const std::size_t from = pick(other.size() + 1);
    mutant.resize(pick(mutant.size() + 1));
    mutant.insert(mutant.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
}

void mutator::set_number(bytes& mutant) {
    constexpr std::array<std::uint64_t, 6> telling{
        0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 1, 1'000'000};
    const std::uint64_t value = telling[pick(telling.size())];
    const std::size_t size = std::size_t{1} << pick(4);
    const std::size_t at = pick(mutant.size() + 1);
    mutant.resize(std::max(mutant.size(), at + size));
    for (std::size_t i = 0; i < size; ++i)
        mutant[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

}  // namespace mortise::fuzz
