// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_TCP_INBOX_HPP
#define MORTISE_TESTS_SUPPORT_TCP_INBOX_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace mortise::test {

/// The messages that arrive at one end of a connection, each once and in the order of sending.
/// Messages after a lost one wait for it.
template <class Message>
class tcp_inbox {
public:
    void put(std::uint64_t number, Message message) {
        if (number >= next_)
            early_.try_emplace(number, std::move(message));
    }

    std::optional<Message> take() {
        const auto found = early_.find(next_);
        if (found == early_.end())
            return std::nullopt;
        std::optional<Message> message(std::move(found->second));
        early_.erase(found);
        ++next_;
        return message;
    }

    bool has_hole() const noexcept { return !early_.empty(); }
    /// The number of the next message.
    std::uint64_t next() const noexcept { return next_; }

private:
    std::uint64_t next_ = 0;
    std::map<std::uint64_t, Message> early_;
};

}  // namespace mortise::test

#endif
