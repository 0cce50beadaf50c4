// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PROXIED_MESSAGE_HPP
#define MORTISE_TESTS_SUPPORT_PROXIED_MESSAGE_HPP

#include "mortise/coro/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::test {

/// A message that passes a `redis_proxy`.
class proxied_message {
public:
    enum class kind : std::uint8_t {
        command,
        reply,
        push,  ///< Includes those that confirm a subscription.
    };

    kind type = kind::command;
    std::uint64_t number = 0;                ///< Among its kind, over all connections; from 1.
    std::uint64_t connection = 0;            ///< From 1, in the order in which they were made.
    std::uint64_t number_on_connection = 0;  ///< Among its kind; from 1.
    std::string name;  ///< The command, in upper case, also of a reply; a push's first word.
    std::string_view bytes;
};

/// How many messages there were.
class message_counts {
public:
    std::uint64_t& of(proxied_message::kind type) {
        return counts_[static_cast<std::size_t>(type)];
    }
    std::uint64_t of(proxied_message::kind type) const {
        return counts_[static_cast<std::size_t>(type)];
    }

private:
    std::array<std::uint64_t, 3> counts_{};
};

/// The treatment of one message by a `redis_proxy`. Everything behind it on the same way of the
/// same connection comes later, since TCP has no holes.
class proxy_deed {
public:
    enum class kind : std::uint8_t {
        pass,
        cut,         ///< The connection ends, and the message is lost. A command first waits for
                     ///< the replies to the others, so that what came before it is not lost.
        cut_answer,  ///< Of a command: it is executed; then the connection ends instead of a reply.
        stall,       ///< From here on nothing comes through that way, and the connection stays.
        repeat,      ///< Of a command: it comes twice, and the second reply is not passed on.
        swallow,     ///< Of a push: it does not arrive.
    };

    kind type = kind::pass;
    clock::duration delay{};  ///< How long to wait before that.

    static proxy_deed of(kind type) { return {type, {}}; }
    static proxy_deed late(clock::duration by) { return {kind::pass, by}; }

    /// Whether this can be done to such a message.
    bool fits(proxied_message::kind message) const noexcept;
};

inline bool proxy_deed::fits(proxied_message::kind message) const noexcept {
    switch (type) {
    case kind::pass:
    case kind::cut:
    case kind::stall:
        return true;
    case kind::cut_answer:
    case kind::repeat:
        return message == proxied_message::kind::command;
    case kind::swallow:
        return message == proxied_message::kind::push;
    }
    return false;
}

}  // namespace mortise::test

#endif
