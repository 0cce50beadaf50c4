// SPDX-License-Identifier: BSL-1.0
#include "xa/note_keeper.hpp"

#include <algorithm>
#include <exception>

namespace mortise::txn::detail {

// A call proves that its own transaction has not ended.
std::optional<note_keeper::portion> note_keeper::wanted(const call& request) {
    const std::lock_guard hold(mutex_);
    const auto key = log_and_participant(request.gid.log, request.participant);
    auto& ages = ages_.try_emplace(key, kept_).first->second;
    const auto at = now();
    ages.learn(std::min(request.ended_below, request.gid.number), at);
    const auto below = ages.due(at);
    if (below == 0 || busy_)
        return std::nullopt;
    busy_ = true;
    return portion(key.first, key.second, below);
}

asio::awaitable<void>
note_keeper::forget(std::shared_ptr<resource_manager> manager, portion notes) {
    /// Lets others forget, whatever becomes of this coroutine.
    struct turn {
        explicit turn(std::shared_ptr<note_keeper> of) : keeper(std::move(of)) {}
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn() {
            const std::lock_guard hold(keeper->mutex_);
            keeper->busy_ = false;
        }
        const std::shared_ptr<note_keeper> keeper;
    };
    const turn mine(shared_from_this());
    bool done = false;
    bool failed = true;
    try {
        auto forgetting = manager->forget(notes.log, notes.participant, notes.below);
        const auto more = co_await std::move(forgetting);
        failed = !more;
        done = more && !*more;
    } catch (const std::exception&) {
        failed = true;
    }
    const std::lock_guard hold(mutex_);
    auto& ages = ages_.at({notes.log, notes.participant});
    if (failed)
        ages.failed(now());
    if (done)
        ages.forgot(notes.below);
}

}  // namespace mortise::txn::detail
