// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_REFUSAL_HPP
#define MORTISE_TESTS_FUZZ_REFUSAL_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/error.hpp"

#include <optional>
#include <string>

namespace mortise::fuzz {

/// Checks the parts of a refusal: a code of ours, what to do, and a text of bounded length.
inline void check_refusal(const error& why) {
    constexpr std::size_t text_max = 16'384;
    MORTISE_ASSERT(why.code().failed() && why.code().category() == error_category());
    MORTISE_ASSERT(!why.remedy().empty());
    const std::string text = why.what();
    MORTISE_ASSERT(text.find(why.remedy()) != std::string::npos && text.size() < text_max);
}

/// Calls it. @return the code of the `error` that it threw; no other exception may come.
template <class Call>
error_code refusal_of(Call call) {
    try {
        call();
    } catch (const error& why) {
        check_refusal(why);
        return why.code();
    }
    return {};
}

}  // namespace mortise::fuzz

#endif
