// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_FIELDS_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_FIELDS_HPP

#include "mortise/detail/text.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

// Header fields of calls and answers, as in docs/txn-http.md: never change them.
namespace mortise::txn::http::fields {

inline constexpr const char* host = "host";
inline constexpr const char* authorization = "authorization";
inline constexpr const char* retry_after = "retry-after";
inline constexpr const char* content_encoding = "content-encoding";
inline constexpr const char* content_type = "content-type";
inline constexpr const char* traceparent = "traceparent";

inline constexpr const char* call = "mortise-call";
inline constexpr const char* gid = "mortise-gid";
inline constexpr const char* branch = "mortise-branch";
inline constexpr const char* attempt = "mortise-attempt";
inline constexpr const char* epoch = "mortise-epoch";
inline constexpr const char* term = "mortise-term";
inline constexpr const char* participant = "mortise-participant";
inline constexpr const char* time_left = "mortise-time-left-ms";
inline constexpr const char* presumed = "mortise-presumed";
inline constexpr const char* seen_epoch = "mortise-seen-epoch";
inline constexpr const char* seen_term = "mortise-seen-term";
inline constexpr const char* seen_ended_below = "mortise-seen-ended-below";
inline constexpr const char* ended_below = "mortise-ended-below";
inline constexpr const char* lock = "mortise-lock";

inline constexpr const char* verdict = "mortise-verdict";
inline constexpr const char* after = "mortise-after-ms";
inline constexpr const char* error = "mortise-error";

}  // namespace mortise::txn::http::fields

namespace mortise::txn::http {

using mortise::detail::percent_decoded;
using mortise::detail::percent_encoded;

/// Compares names of fields, or words of a scheme, without regard to case.
bool same_name(std::string_view left, std::string_view right) noexcept;

/// Whether a text can be the name of a field: letters, digits and some others, no blank.
bool is_field_name(std::string_view text) noexcept;

/// Whether a text can be a value in a header: visible ASCII, with spaces inside only.
bool is_field_value(std::string_view text) noexcept;

/// Reads decimal digits and nothing else, at most `max`.
std::optional<std::uint64_t> decimal(std::string_view text, std::uint64_t max) noexcept;

}  // namespace mortise::txn::http

#endif
