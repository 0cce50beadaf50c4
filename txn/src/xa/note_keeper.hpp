// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_XA_NOTE_KEEPER_HPP
#define MORTISE_TXN_XA_NOTE_KEEPER_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/txn/resource_manager.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace mortise::txn::detail {

/// Finds the notes that a database may forget: those of transactions that ended longer ago than
/// notes are kept. A try that is still on its way needs the note of its branch, or it would do the
/// work once more. No clock, no I/O.
class note_ages {
public:
    explicit note_ages(clock::duration kept) noexcept : kept_(kept) {}

    /// All transactions below this number have ended by now.
    void learn(std::uint64_t ended_below, clock::time_point now) {
        if (!steps_.empty() && now - steps_.back().when < kept_ / steps_max)
            return;  // the present step is young: the next one learns it
        if (ended_below > highest_)
            steps_.push_back({now, highest_ = ended_below});
    }

    /// The number below which notes may be forgotten now; zero: there is nothing new, or an earlier
    /// attempt has failed not long ago.
    std::uint64_t due(clock::time_point now) {
        while (!steps_.empty() && now - steps_.front().when >= kept_) {
            due_ = steps_.front().below;
            steps_.pop_front();
        }
        return now >= not_before_ && due_ > forgotten_ ? due_ : 0;
    }

    /// Nothing below that number is left.
    void forgot(std::uint64_t below) noexcept { forgotten_ = below; }
    void failed(clock::time_point now) { not_before_ = now + kept_ / steps_max; }

private:
    static constexpr unsigned steps_max = 64;

    struct step {
        clock::time_point when;
        std::uint64_t below;
    };

    clock::duration kept_;
    std::deque<step> steps_;
    std::uint64_t highest_ = 0;
    std::uint64_t due_ = 0;
    std::uint64_t forgotten_ = 0;
    clock::time_point not_before_;
};

/// Lets a database forget the notes of branches that ended long ago. One portion at a time, beside
/// the calls that tell of ends.
///
/// @par Threads Any thread.
class note_keeper : public std::enable_shared_from_this<note_keeper> {
public:
    /// What to forget.
    class portion {
    public:
        portion(std::uint64_t of, std::string who, std::uint64_t end)
            : log(of), participant(std::move(who)), below(end) {}

        std::uint64_t log;
        std::string participant;
        std::uint64_t below;
    };

    note_keeper(clock::duration kept, std::shared_ptr<coro::time_source> time)
        : kept_(kept), time_(std::move(time)) {}

    /// Notes what the call tells of ends.
    /// @return what is to be forgotten by this caller; empty: nothing, or another one does it.
    std::optional<portion> wanted(const call& request);

    /// Forgets it. A failure is left to a later call.
    asio::awaitable<void> forget(std::shared_ptr<resource_manager> manager, portion notes);

private:
    using log_and_participant = std::pair<std::uint64_t, std::string>;

    clock::time_point now() const { return time_ ? time_->now() : clock::now(); }

    const clock::duration kept_;
    const std::shared_ptr<coro::time_source> time_;
    std::mutex mutex_;
    bool busy_ = false;
    std::map<log_and_participant, note_ages> ages_;
};

}  // namespace mortise::txn::detail

#endif
