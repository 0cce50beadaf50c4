// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_COLUMN_VALUE_HPP
#define MORTISE_DB_COLUMN_VALUE_HPP

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace mortise::db {

/// Bytes that are no text: a blob.
class blob {
public:
    blob() = default;
    explicit blob(std::string given) noexcept : bytes(std::move(given)) {}
    friend auto operator<=>(const blob&, const blob&) = default;

    std::string bytes;
};

/// The value of a column, or of a parameter; `std::monostate` stands for NULL.
using column_value = std::variant<std::monostate, std::int64_t, double, std::string, blob>;

namespace detail {
/// @throws error `value_refused`
[[noreturn]] void refuse_large(std::uint64_t value);

/// The integer as the databases hold it: none of them has room for the upper half of the unsigned
/// ones, which would become negative.
template <std::integral Integer>
std::int64_t to_signed(Integer value) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    if constexpr (std::unsigned_integral<Integer> && sizeof(Integer) >= sizeof(most)) {
        if (value > static_cast<Integer>(most))
            refuse_large(value);
    }
    return static_cast<std::int64_t>(value);
}
}  // namespace detail

// What can be bound to a parameter, as a column value: integers, `double`, text, a blob, `nullptr`,
// an optional of these, or a column value itself. An unsigned integer above 2^63 - 1 is refused by
// an error (`value_refused`).

template <std::integral Integer>
column_value to_column_value(Integer value) {
    return detail::to_signed(value);
}
template <std::floating_point Real>
column_value to_column_value(Real value) {
    return static_cast<double>(value);
}
inline column_value to_column_value(std::nullptr_t) {
    return {};
}
inline column_value to_column_value(std::string_view text) {
    return std::string(text);
}
inline column_value to_column_value(const blob& bytes) {
    return bytes;
}
template <std::same_as<column_value> Value>  // a template, or texts would convert to it, too
column_value to_column_value(const Value& value) {
    return value;
}
template <class T>
column_value to_column_value(const std::optional<T>& value) {
    return value ? to_column_value(*value) : column_value();
}

/// A type of values that can be bound.
template <class T>
concept bindable_value = requires(const T& value) {
    { to_column_value(value) } -> std::same_as<column_value>;
};

}  // namespace mortise::db

#endif
