// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_RECORD_FORMAT_HPP
#define MORTISE_TXN_LOG_RECORD_FORMAT_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::txn::log {

/// Reads the records of `record_writer`. After the first error it returns only zeros and empty
/// texts: check `good` or `done` at the end.
class record_reader {
public:
    explicit record_reader(std::string_view bytes) noexcept : left_(bytes) {}

    std::uint64_t number() noexcept {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (left_.empty())
                break;
            const auto digit = static_cast<unsigned char>(left_.front());
            left_.remove_prefix(1);
            const std::uint64_t part = digit & 0x7fu;
            if (part << shift >> shift != part)
                break;
            value |= part << shift;
            if (digit < 0x80)
                return value;
        }
        fail();
        return 0;
    }

    /// Reads a number up to `max`.
    std::uint64_t number(std::uint64_t max) noexcept {
        const auto value = number();
        if (value <= max)
            return value;
        fail();
        return 0;
    }

    std::string text() {
        const auto size = number(left_.size());
        if (size > left_.size())
            fail();
        std::string value(left_.substr(0, good_ ? size : 0));
        left_.remove_prefix(value.size());
        return value;
    }

    /// Reads the number of items that follow, each of which takes at least a byte.
    std::uint64_t count() noexcept {
        const auto value = number();
        if (value <= left_.size())
            return value;
        fail();
        return 0;
    }

    /// Whether there was no error, and nothing is left.
    bool done() const noexcept { return good_ && left_.empty(); }
    bool good() const noexcept { return good_; }

private:
    void fail() noexcept {
        good_ = false;
        left_ = {};
    }

    std::string_view left_;
    bool good_ = true;
};

/// Writes the records of the log: numbers in base 128, lowest digits first; texts with their length
/// before them.
class record_writer {
public:
    void number(std::uint64_t value) {
        constexpr unsigned more = 0x80;
        for (; value >= more; value >>= 7)
            bytes_ += static_cast<char>(value | more);
        bytes_ += static_cast<char>(value);
    }

    void text(std::string_view value) {
        number(value.size());
        bytes_ += value;
    }

    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

}  // namespace mortise::txn::log

#endif
