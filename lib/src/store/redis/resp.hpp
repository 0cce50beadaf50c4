// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_RESP_HPP
#define MORTISE_STORE_REDIS_RESP_HPP

#include "store/redis/redis_wire.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// A value as it comes from a server, and whether the server sent it without being asked.
struct resp_item {
    resp_item() = default;

    redis_value value;
    bool pushed = false;
};

/// Reads values (RESP3) out of the bytes of a server, in whatever portions they come. No I/O.
///
/// What a server says is not trusted: a size is believed only as far as bytes follow it, so that no
/// memory is reserved for what never comes, and each of the limits below ends the reading.
class resp_reader {
public:
    static constexpr std::size_t line_max = 64 * 1024;  ///< Of anything but a text with a size.
    static constexpr std::size_t value_max = 512 * 1024 * 1024;  ///< Of one whole value, in memory.
    static constexpr std::size_t depth_max = 64;

    /// Room for the bytes that come next, until the next call of any member.
    std::span<char> room();
    /// So many bytes of the room were filled.
    void filled(std::size_t count) noexcept { end_ += count; }

    /// The next value, once all of its bytes are there.
    std::optional<resp_item> next();

    /// Whether the bytes are not RESP3, or a limit was reached: nothing comes any more.
    bool failed() const noexcept { return failed_; }

private:
    struct open_array {
        redis_value value;
        std::size_t left = 0;       ///< How many of its items are still to come.
        bool is_attribute = false;  ///< It says something of the next value, and is dropped.
    };

    std::string_view unread() const noexcept { return {bytes_.data() + begin_, end_ - begin_}; }
    std::optional<std::string_view> take_line();
    std::optional<redis_value> take_text();
    std::optional<redis_value> read_some();
    std::optional<redis_value> read(char type, std::string_view rest);
    std::optional<redis_value> open(char type, std::string_view rest);
    std::optional<redis_value> fail() noexcept;
    bool close_with(redis_value& done);
    bool count(std::size_t bytes) noexcept;

    std::vector<char> bytes_;
    std::size_t begin_ = 0;  ///< Of what was not read yet.
    std::size_t end_ = 0;
    std::vector<open_array> open_;
    std::optional<std::size_t> text_;  ///< The size of the text that comes next.
    bool text_is_error_ = false;
    bool pushed_ = false;       ///< The value that is being read is a push.
    std::size_t consumed_ = 0;  ///< Bytes of the value that is being read.
    bool failed_ = false;
};

/// Appends a command to `to`, as it is sent.
void put_command(std::string& to, const redis_command& command);

/// Whether a server answers that command by a push, and not by a reply.
bool is_answered_by_push(std::string_view name) noexcept;

}  // namespace mortise::store_detail

#endif
