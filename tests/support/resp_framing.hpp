// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_RESP_FRAMING_HPP
#define MORTISE_TESTS_SUPPORT_RESP_FRAMING_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test {

/// One message of Redis's protocol, byte for byte: a command, a reply or a push.
class resp_message {
public:
    char type = 0;  ///< Its first byte; that of the value, if attributes stand before it.
    std::string bytes;

    bool is_push() const noexcept { return type == '>'; }
    bool is_error() const noexcept { return type == '-' || type == '!'; }
};

/// Thrown for bytes that are neither RESP2 nor RESP3.
class resp_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Cuts a stream of RESP2 or RESP3 into its messages, wherever the pieces of the stream are split.
///
/// Streamed strings and aggregates (`$?`, `*?`), which no server sends, and inline commands are
/// refused.
class resp_framing {
public:
    /// Takes the bytes that come next.
    void feed(std::string_view bytes) { buffer_.append(bytes); }

    /// The next whole message, if it is there.
    /// @throws resp_error now and whenever it is called again
    std::optional<resp_message> next();

    /// The bytes of a message that is not whole yet.
    std::string_view rest() const noexcept { return buffer_; }

private:
    /// An aggregate that is open.
    class frame {
    public:
        std::int64_t left = 0;      ///< Values that it still needs.
        bool is_attribute = false;  ///< It stands before a value and is none itself.
    };

    bool take_one();
    bool take_line();
    void open(char type, std::int64_t count);
    void close_value();

    std::string buffer_;
    std::size_t seen_ = 0;  ///< How much of the buffer has been looked at.
    std::size_t blob_ = 0;  ///< How many bytes, of any value, come next.
    bool in_blob_ = false;
    char type_ = 0;
    bool whole_ = false;
    std::vector<frame> open_;
};

}  // namespace mortise::test

#endif
