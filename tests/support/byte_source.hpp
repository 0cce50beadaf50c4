// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_BYTE_SOURCE_HPP
#define MORTISE_TESTS_SUPPORT_BYTE_SOURCE_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace mortise::test {

/// Bytes from outside, taken from the front: a choice, a number or a text at a time. When they are
/// used up everything is zero or empty, so that whatever is made of them comes to an end.
///
/// Take one thing in each full expression: compilers differ in the order in which they evaluate
/// operands.
class byte_source {
public:
    explicit byte_source(std::span<const std::uint8_t> bytes) noexcept : left_(bytes) {}

    bool used_up() const noexcept { return left_.empty(); }

    template <std::integral T>
    T number() noexcept {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i)
            value |= std::uint64_t{byte()} << (8 * i);
        return static_cast<T>(value);
    }

    /// A choice out of so many: below `of`, which is at least 1. Takes as few bytes as will do.
    std::size_t pick(std::size_t of) noexcept {
        const auto raw = of <= 1      ? 0
                         : of <= 256  ? number<std::uint8_t>()
                         : of < 65536 ? number<std::uint16_t>()
                                      : number<std::uint64_t>();
        return static_cast<std::size_t>(raw % of);
    }

    bool flag() noexcept { return (byte() & 1) != 0; }

    /// A number that is often near those at which arithmetic goes wrong.
    template <std::integral T>
    T edge() noexcept {
        using limits = std::numeric_limits<T>;
        const auto near = static_cast<T>(pick(4));
        switch (pick(8)) {
        case 0:
            return near;
        case 1:
            return static_cast<T>(limits::max() - near);
        case 2:
            return static_cast<T>(limits::min() + near);
        case 3:
            return static_cast<T>(limits::max() / 1'000'000 + near);
        case 4:
            return static_cast<T>(number<std::uint8_t>());
        case 5:
            return static_cast<T>(number<std::uint16_t>());
        case 6:
            return static_cast<T>(T{1} << pick(limits::digits));
        default:
            return number<T>();
        }
    }

    /// At most `max` bytes, of any value. Their number comes first.
    std::string text(std::size_t max) {
        const std::size_t wanted = pick(max + 1);
        return take(std::min(wanted, left_.size()));
    }

    /// All that is left.
    std::string rest() { return take(left_.size()); }

private:
    std::uint8_t byte() noexcept {
        if (left_.empty())
            return 0;
        const std::uint8_t first = left_.front();
        left_ = left_.subspan(1);
        return first;
    }

    std::string take(std::size_t size) {
        const std::string taken(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(size));
        left_ = left_.subspan(size);
        return taken;
    }

    std::span<const std::uint8_t> left_;
};

}  // namespace mortise::test

#endif
