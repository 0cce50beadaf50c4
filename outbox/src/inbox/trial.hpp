// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_INBOX_TRIAL_HPP
#define MORTISE_OUTBOX_SRC_INBOX_TRIAL_HPP

#include "mortise/error.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::outbox::inbox_detail {

/// Finds the handlers that make transactions fail, until only the messages of these handlers are to
/// blame.
///
/// If the handler is known, its message counts as failed in the next transaction without being
/// tried. If not, each transaction tries fewer messages, until the handler is known.
///
/// @par Threads One at a time: the session's thread while the work runs, else the thread of its
///              caller.
class trial {
public:
    // For the caller of the work:

    /// The transaction failed. @return whether to run it again.
    bool learn(error_code why) {
        if (why == mortise::errc::commit_unknown || why == mortise::errc::poisoned)
            return false;
        if (lost_)
            return convict(std::move(*lost_));
        if (why != mortise::errc::transaction_control || tried_ == 0)
            return false;
        if (tried_ == 1)
            return convict("its handler tried what only the session may: to begin or end a "
                           "transaction, or the like");
        limit_ = tried_ / 2;
        return true;
    }
    /// The transaction was committed. Verdicts on messages that it did not reach stay.
    void passed() {
        for (const auto place : judged_)
            convicted_.erase(place);
        limit_ = no_limit;
    }

    // For the work:

    void begin() noexcept {
        tried_ = 0;
        judged_.clear();
        lost_.reset();
    }
    bool is_full() const noexcept { return tried_ >= limit_; }
    /// Why the message at that place counts as failed; null: try it.
    const std::string* verdict(std::int64_t place) {
        const auto found = convicted_.find(place);
        if (found == convicted_.end())
            return nullptr;
        judged_.push_back(place);
        return &found->second;
    }
    /// Call it just before the handler.
    void tries(std::int64_t place) noexcept {
        last_ = place;
        ++tried_;
    }
    /// Records that this handler left no transaction, or no savepoint, to go on with.
    void loses(std::string why) { lost_ = std::move(why); }

private:
    static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

    bool convict(std::string why) { return convicted_.emplace(last_, std::move(why)).second; }

    std::map<std::int64_t, std::string> convicted_;
    std::vector<std::int64_t> judged_;  // those of `convicted_` that this transaction reached
    std::size_t limit_ = no_limit;
    std::size_t tried_ = 0;
    std::int64_t last_ = 0;
    std::optional<std::string> lost_;
};

}  // namespace mortise::outbox::inbox_detail

#endif
