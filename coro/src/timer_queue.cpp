// SPDX-License-Identifier: BSL-1.0
#include "timer_queue.hpp"

#include <boost/asio/error.hpp>

namespace mortise::coro::detail {

class timer_queue::entry final : public wait_entry {
public:
    entry(clock::time_point moment, completion_type given) : when(moment), done(std::move(given)) {}

    void finish(error_code ec) noexcept override { done.complete(ec); }
    void drop() noexcept override { const auto gone = std::move(done); }

    clock::time_point when;
    completion_type done;
};

void timer_queue::add(clock::time_point when, completion_type done) {
    const auto slot = done.slot();
    auto& context = done.context();
    const auto waiting = std::make_shared<entry>(when, std::move(done));
    waiting->listen(slot);
    bool closed = false;
    bool stands = false;
    {
        std::lock_guard hold(mutex());
        closed = closed_;
        stands = !closed && waiting->enter(shared_from_this(), &context);
        if (stands) {
            waiting->ticket = ++tickets_;
            const auto at = waits_.emplace(key(when, waiting->ticket), waiting).first;
            if (at == waits_.begin())
                earliest_changed(when);
        }
    }
    if (closed)
        waiting->finish(asio::error::operation_aborted);
    else if (!stands)
        waiting->drop();  // its context is ending
}

std::size_t timer_queue::complete_due(clock::time_point now) {
    if (now == clock::time_point::max())
        now -= clock::duration(1);  // a wait until the clock's maximum never ends
    std::size_t count = 0;
    std::uint64_t newest = 0;
    {
        std::lock_guard hold(mutex());
        newest = tickets_;
    }
    for (;; ++count) {
        std::shared_ptr<wait_entry> due;
        {
            std::lock_guard hold(mutex());
            if (!waits_.empty() && waits_.begin()->first.second <= newest)
                due = pop(now);
        }
        if (!due)
            return count;
        due->finish(error_code());
    }
}

std::optional<clock::time_point> timer_queue::next() {
    std::lock_guard hold(mutex());
    return earliest();
}

void timer_queue::close() noexcept {
    for (;;) {  // ends: a closed queue takes no waits
        std::shared_ptr<wait_entry> gone;
        {
            std::lock_guard hold(mutex());
            closed_ = true;
            gone = pop(clock::time_point::max());
        }
        if (!gone)
            return;
        gone->finish(asio::error::operation_aborted);
    }
}

std::optional<clock::time_point> timer_queue::earliest() const noexcept {
    if (waits_.empty())
        return std::nullopt;
    return waits_.begin()->first.first;
}

void timer_queue::remove(wait_entry& gone) noexcept {
    waits_.erase(key(static_cast<entry&>(gone).when, gone.ticket));
}

std::shared_ptr<wait_entry> timer_queue::pop(clock::time_point now) noexcept {
    if (waits_.empty() || waits_.begin()->first.first > now)
        return nullptr;
    std::shared_ptr<wait_entry> first = waits_.begin()->second;
    waits_.erase(waits_.begin());
    first->leave();
    return first;
}

}  // namespace mortise::coro::detail
