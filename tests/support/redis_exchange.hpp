// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDIS_EXCHANGE_HPP
#define MORTISE_TESTS_SUPPORT_REDIS_EXCHANGE_HPP

#include "support/resp_framing.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace mortise::test {

/// Knows which reply of one connection belongs to which command, and what must become of it.
///
/// A command has one reply, in order. Only those that subscribe or unsubscribe differ: RESP3 has
/// no reply to them but a push for each channel (or an error). Pushes come at any time.
///
/// Not understood: `CLIENT REPLY OFF`, `MONITOR`, and messages to a subscriber in RESP2.
class redis_exchange {
public:
    enum class fate : std::uint8_t {
        pass,
        swallow,  ///< The client must not see it.
        cut,      ///< The connection ends instead of it.
    };
    class answer {
    public:
        bool is_push = false;
        std::string name;  ///< The command that it answers, in upper case; a push's first word.
        fate to_be = fate::pass;
    };

    /// Notes a command that goes to the server. @return its name, in upper case
    std::string sent(const resp_message& command, fate of_reply);

    /// Notes a message that has come from the server.
    answer received(const resp_message& message);

    /// How many commands have not been answered.
    std::size_t open() const noexcept { return open_.size(); }

private:
    class entry {
    public:
        std::string name;
        std::size_t left = 1;  ///< Confirmations that are to come.
        bool subscribes = false;
        fate of_reply = fate::pass;
    };

    void confirm();

    std::deque<entry> open_;
};

/// The first word of a command, in upper case.
std::string command_name(const resp_message& command);

}  // namespace mortise::test

#endif
