// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_WORDS_HPP
#define MORTISE_STORE_REDIS_WORDS_HPP

#include "mortise/fencing_token.hpp"

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mortise::store_detail {

/// Takes a text apart that a script made: words with one space between them.
class words {
public:
    explicit words(std::string_view text) noexcept : rest_(text) {}

    /// The next word; empty at the end.
    std::string_view next() noexcept {
        const auto end = rest_.find(' ');
        const auto word = rest_.substr(0, end);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        return word;
    }

    /// The next word as a number of decimal digits only; any other word sets `failed`.
    template <std::unsigned_integral Number = std::uint64_t>
    Number number() noexcept {
        const auto word = next();
        Number value = 0;
        const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (wrong != std::errc() || end != word.data() + word.size())
            failed_ = true;
        return value;
    }

    /// The next word as the base of a token: from 1 to below `fencing_token::base_end`.
    std::uint64_t base() noexcept {
        const auto value = number();
        if (value == 0 || value >= fencing_token::base_end)
            failed_ = true;
        return value;
    }

    /// The next word, which is 0 or 1.
    bool flag() noexcept {
        const auto word = next();
        if (word != "0" && word != "1")
            failed_ = true;
        return word == "1";
    }

    /// All that is left, whatever it is.
    std::string_view rest() noexcept {
        const auto all = rest_;
        rest_ = {};
        return all;
    }

    bool failed() const noexcept { return failed_; }
    bool at_end() const noexcept { return rest_.empty(); }

private:
    std::string_view rest_;
    bool failed_ = false;
};

}  // namespace mortise::store_detail

#endif
