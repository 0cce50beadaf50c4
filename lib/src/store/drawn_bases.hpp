// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_DRAWN_BASES_HPP
#define MORTISE_STORE_DRAWN_BASES_HPP

#include "mortise/fencing_token.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>

namespace mortise::store_detail {

/// How many bases of tokens a grant gets when it asks for more.
inline constexpr std::uint64_t bases_drawn = 256;

/// The tokens of `bases_drawn` bases, beginning with `first_base`.
inline token_range tokens_of(std::uint64_t first_base, const token_domain& domain) noexcept {
    token_range range;
    range.first = {first_base << fencing_token::sequence_bits, domain};
    range.count = bases_drawn << fencing_token::sequence_bits;
    return range;
}

}  // namespace mortise::store_detail

#endif
