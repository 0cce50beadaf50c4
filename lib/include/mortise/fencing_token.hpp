// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_FENCING_TOKEN_HPP
#define MORTISE_FENCING_TOKEN_HPP

#include "mortise/token_domain.hpp"

#include <cstdint>

namespace mortise {

/// A number that grows with every grant of a lock, and the domain (the store) that it belongs to.
///
/// The value is below 2^63 and zero means "none". It is made of a base that the store draws at each
/// grant (upper 53 bits) and of a sequence number (lower 10 bits) that the client counts when it
/// passes a grant on without asking the store. There is no `<`: tokens of two domains have no
/// order, and those of two locks need not have one; a `fencing_gate` or a fence at the resource
/// compares the tokens of the one lock that protects it.
///
/// Source: M. Kleppmann, "How to do distributed locking" (2016).
struct fencing_token {
    static constexpr unsigned sequence_bits = 10;
    /// First base that is too large.
    static constexpr std::uint64_t base_end = std::uint64_t{1} << 53;

    std::uint64_t value = 0;
    token_domain domain;

    constexpr explicit operator bool() const noexcept { return value != 0; }
    constexpr std::uint64_t base() const noexcept { return value >> sequence_bits; }

    friend bool operator==(const fencing_token&, const fencing_token&) noexcept = default;
};

/// The promise of a store about its tokens.
enum class token_strength : std::uint8_t {
    absent,  ///< The store gives none: the token of a lease is empty, and no fence admits it.
    none,    ///< They grow while the store lives, and may repeat after a restart.
    /// They never repeat if the server is set up for it, which was not proved.
    durable_if_configured,
    strict,  ///< They never repeat nor fall, whatever crashes.
};

}  // namespace mortise

#endif
