// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_RECORD_WRITER_HPP
#define MORTISE_TXN_LOG_RECORD_WRITER_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::txn::log {

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
