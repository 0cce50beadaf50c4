// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_RAW_REDIS_HPP
#define MORTISE_TESTS_SUPPORT_RAW_REDIS_HPP

#include "support/redis_value.hpp"
#include "support/resp_framing.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test {

/// A connection to a Redis server of this machine, for what tests look up and do there beside the
/// code under test. Every call blocks, for at most `limit`.
///
///     raw_redis redis(server.port());
///     EXPECT_EQ(redis.command({"DBSIZE"}).number, 0);
///
/// @par Errors `std::system_error` if there is no connection or no longer one (`connection_reset`
///             also for its end), or no answer in time (`timed_out`).
/// @par Threads One at a time.
class raw_redis {
public:
    /// Speaks RESP2, until it is told `HELLO 3`.
    explicit raw_redis(
        std::uint16_t port, std::chrono::milliseconds limit = std::chrono::seconds(10)
    );
    ~raw_redis();
    raw_redis(raw_redis&& other) noexcept;
    raw_redis& operator=(raw_redis&&) = delete;

    /// Sends a command and returns its reply. Pushes that come before it are kept.
    /// @throws std::runtime_error with the server's words, for an error
    redis_value command(const std::vector<std::string>& words);

    /// The same, but an error is a value, too.
    [[nodiscard]] redis_value try_command(const std::vector<std::string>& words);

    /// The halves of `try_command`, for several commands at once.
    void send(const std::vector<std::string>& words);
    [[nodiscard]] redis_value receive();

    /// The next push that has come or comes within `limit`. Only RESP3 has pushes.
    std::optional<redis_value> next_push(std::chrono::milliseconds limit);

    /// Sends these bytes as they are.
    void send_bytes(std::string_view bytes);

    /// Whether the server ends this connection within `limit`. Other input is thrown away.
    bool ends_within(std::chrono::milliseconds limit);

    /// The fields of a section of `INFO`.
    std::map<std::string, std::string> info(const std::string& section);

    /// How often the server has executed a command since `CONFIG RESETSTAT`, also from scripts.
    std::uint64_t calls(const std::string& command_in_lower_case);

private:
    using milliseconds = std::chrono::milliseconds;

    bool await(milliseconds limit) const;
    bool read_more();

    int socket_;
    milliseconds limit_;
    resp_framing framing_;
    std::deque<redis_value> pushes_;
};

}  // namespace mortise::test

#endif
