// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_TOKEN_SUPPLY_HPP
#define MORTISE_CLIENT_TOKEN_SUPPLY_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>

namespace mortise::detail {

/// The tokens that belong to a grant: a block that came with it, and blocks drawn later.
///
/// A grant is passed on inside the process with its next token. When half of a block is used up,
/// the next one is drawn, so that passing on does not wait for the store. No clock, no I/O.
class token_supply {
public:
    token_supply() = default;

    /// The supply of a grant that came with `first`.
    explicit token_supply(const fencing_token& first) noexcept
        : domain_(first.domain),
          next_(first.value),
          end_((first.base() + 1) << fencing_token::sequence_bits),
          draw_at_(next_ + (end_ - next_) / 2) {}

    bool empty() const noexcept { return next_ == end_ && later_next_ == later_end_; }

    /// Requires that a token is left.
    fencing_token take() noexcept {
        MORTISE_ASSERT(!empty());
        if (next_ == end_) {
            next_ = later_next_;
            end_ = later_end_;
            later_next_ = later_end_ = 0;
            draw_at_ = next_ + (end_ - next_) / 2;
        }
        return {next_++, domain_};
    }

    /// Whether the time has come to draw more; true once for each block. Never of an empty object.
    bool wants_more() noexcept {
        if (drawing_ || end_ == 0 || later_next_ != later_end_ || next_ < draw_at_)
            return false;
        drawing_ = true;
        return true;
    }

    /// Adds the block that was drawn.
    void add(const token_range& range) noexcept {
        MORTISE_ASSERT(drawing_ && range.first.value >= end_ && range.first.domain == domain_);
        drawing_ = false;
        later_next_ = range.first.value;
        later_end_ = range.first.value + range.count;
    }

    /// Notes that the draw failed; `wants_more` asks again after the next token.
    void draw_failed() noexcept { drawing_ = false; }

private:
    token_domain domain_;
    std::uint64_t next_ = 0;
    std::uint64_t end_ = 0;
    std::uint64_t later_next_ = 0;
    std::uint64_t later_end_ = 0;
    std::uint64_t draw_at_ = 0;
    bool drawing_ = false;
};

}  // namespace mortise::detail

#endif
