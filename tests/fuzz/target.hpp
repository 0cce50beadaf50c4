// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_TARGET_HPP
#define MORTISE_TESTS_FUZZ_TARGET_HPP

#include "mortise/coro/assert.hpp"
#include "support/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mortise::fuzz {

using input = test::byte_source;

/// A function that is fed with bytes. A fault shows as the end of the process: an assertion, a
/// sanitizer, an exception that nobody caught.
struct target {
    std::string_view name;
    void (*run)(input);
};

/// All targets of this program. Filled before `main`.
inline std::vector<target>& targets() {
    static std::vector<target> all;
    return all;
}

struct registration {
    registration(std::string_view name, void (*run)(input)) { targets().push_back({name, run}); }
};

}  // namespace mortise::fuzz

/// Defines a target: `MORTISE_FUZZ_TARGET(name) { ... }` with the bytes as `in`. The same source is
/// a fuzzer of its own with libFuzzer, and one of the targets of the replay program.
#ifdef MORTISE_FUZZ_REPLAY
#define MORTISE_FUZZ_ENTRY(name)                                                                   \
    static const ::mortise::fuzz::registration registered_##name(#name, &fuzz_##name);
#else
#define MORTISE_FUZZ_ENTRY(name)                                                                   \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {            \
        fuzz_##name(::mortise::fuzz::input(std::span(data, size)));                                \
        return 0;                                                                                  \
    }
#endif
#define MORTISE_FUZZ_TARGET(name)                                                                  \
    static void fuzz_##name(::mortise::fuzz::input in);                                            \
    MORTISE_FUZZ_ENTRY(name)                                                                       \
    static void fuzz_##name([[maybe_unused]] ::mortise::fuzz::input in)

#endif
