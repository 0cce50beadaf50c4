// SPDX-License-Identifier: BSL-1.0
// Targets with planted bugs, one for each way to fail. None shows with the committed inputs: only
// changed ones reach it.
#include "fuzz/target.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::fuzz {
namespace {

// Runs of a byte as its count and itself. The bug: a count has no room for more than 255.
std::string packed(const std::string& plain) {
    std::string runs;
    for (std::size_t i = 0; i < plain.size();) {
        std::size_t end = i;
        while (end < plain.size() && plain[end] == plain[i])
            ++end;
        runs += static_cast<char>(end - i);
        runs += plain[i];
        i = end;
    }
    return runs;
}

std::string unpacked(const std::string& runs) {
    std::string plain;
    for (std::size_t i = 0; i + 1 < runs.size(); i += 2)
        plain.append(static_cast<unsigned char>(runs[i]), runs[i + 1]);
    return plain;
}

}  // namespace

MORTISE_FUZZ_TARGET(canary_property) {
    std::string plain;
    while (!in.used_up()) {
        const auto count = in.number<std::uint16_t>() % 1'000u;
        plain.append(count, static_cast<char>(in.pick(4)));
    }
    MORTISE_ASSERT(unpacked(packed(plain)) == plain);
}

// The bug: a size that is written in the input is believed.
MORTISE_FUZZ_TARGET(canary_memory) {
    const std::size_t size = in.pick(16);
    const std::string left = in.rest();
    const std::vector<char> kept(left.begin(), left.end());
    std::size_t sum = 0;
    for (std::size_t i = 0; i < size; ++i)
        sum += static_cast<unsigned char>(*(kept.data() + i));
    MORTISE_ASSERT(sum < std::size_t{256} * 16);
}

// The bug: a step of zero never arrives.
MORTISE_FUZZ_TARGET(canary_endless) {
    const std::size_t step = in.pick(16);
    std::atomic<std::size_t> at = 0;  // which the compiler must not see through
    while (at < 100)
        at += step;
}

}  // namespace mortise::fuzz
