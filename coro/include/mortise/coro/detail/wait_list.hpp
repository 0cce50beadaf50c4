// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_WAIT_LIST_HPP
#define MORTISE_CORO_DETAIL_WAIT_LIST_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/wait_entry.hpp"

#include <boost/asio/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace mortise::coro::detail {

/// The outcome for a handler that asked to wait.
enum class wait_outcome {
    waits,   ///< The list owns the handler now.
    ready,   ///< No need to wait; the caller still owns the handler.
    closed,  ///< The list takes no more; the caller still owns the handler.
};

/// The one place where handlers wait: first come, first served.
///
/// A waiting handler holds outstanding work on its executor. It leaves the list in one of three
/// ways, decided under the list's mutex: completed by post, cancelled (all types alike, by post
/// with `operation_aborted`; a waiter that was taken before is not affected), or destroyed with the
/// context of its executor. A completion that was taken and is destroyed instead of completed
/// destroys its arguments too: an argument that is a guard thereby unlocks.
///
/// @par Threads      Any, for all members; signals may be emitted on any thread.
/// @par Lifetimes    Destroying the list completes all waiters with `operation_aborted`.
/// @par Cost         One allocation per wait; the mutex is held for a few instructions.
template <class... Args>
class wait_list {
public:
    using signature = void(error_code, Args...);
    using completion_type = completion<signature>;

    wait_list() : core_(std::make_shared<wait_fifo>()) {}
    ~wait_list() { close(); }
    wait_list(const wait_list&) = delete;
    wait_list& operator=(const wait_list&) = delete;

    /// Guards the list, and the state of the owner that decides who waits.
    std::mutex& mutex() const noexcept { return core_->mutex(); }

    /// Waits until taken. If the list is closed, completes with `operation_aborted`.
    void add(completion_type waiter) {
        if (wait_unless(waiter, [] { return false; }) == wait_outcome::closed)
            abort(std::move(waiter));
    }

    /// Waits unless the list is closed or `ready()` says that there is no need to. `ready` is
    /// called under the mutex, a second time if it said no at first, and may change the owner's
    /// state when it says yes.
    template <class Ready>
    [[nodiscard]] wait_outcome wait_unless(completion_type& waiter, Ready ready) {
        if (const auto outcome = ask(ready); outcome != wait_outcome::waits)
            return outcome;
        const auto slot = waiter.slot();
        auto& context = waiter.context();
        auto waiting = std::make_shared<entry>(std::move(waiter));
        waiting->listen(slot);
        auto outcome = wait_outcome::waits;
        bool stands = true;
        {
            std::lock_guard hold(core_->mutex());
            if (closed_)
                outcome = wait_outcome::closed;
            else if (ready())
                outcome = wait_outcome::ready;
            if (outcome == wait_outcome::waits)
                stands = wait_fifo::push(core_, waiting, &context);
        }
        if (outcome != wait_outcome::waits)
            waiter = std::move(waiting->waiter);
        else if (!stands)
            waiting->drop();  // its context is ending
        return outcome;
    }

    /// Takes the oldest waiter; if there is none, calls `otherwise()` under the mutex and returns
    /// an empty completion.
    template <class Otherwise>
    [[nodiscard]] completion_type take_one(Otherwise otherwise) {
        std::shared_ptr<wait_entry> taken;
        {
            std::lock_guard hold(core_->mutex());
            taken = core_->pop();
            if (!taken)
                otherwise();
        }
        return waiter_of(taken);
    }
    [[nodiscard]] completion_type take_one() {
        return take_one([] {});
    }

    /// Completes the oldest waiter; false if there is none.
    bool complete_one(error_code ec, Args... args) {
        auto waiter = take_one();
        if (!waiter)
            return false;
        waiter.complete(ec, std::move(args)...);
        return true;
    }

    /// Completes all present waiters, each with copies of the arguments. Returns how many.
    std::size_t complete_all(error_code ec, const Args&... args) {
        return complete_all_after([] {}, ec, args...);
    }

    /// As `complete_all`, for those that wait when `change()` is called, under the mutex.
    template <class Change>
    std::size_t complete_all_after(Change change, error_code ec, const Args&... args) {
        std::uint64_t newest = 0;
        {
            std::lock_guard hold(core_->mutex());
            change();
            newest = core_->newest();
        }
        return drain(newest, [&](completion_type& waiter) { waiter.complete(ec, args...); });
    }

    /// Completes all present and later waiters with `operation_aborted`.
    void close() noexcept {
        {
            std::lock_guard hold(core_->mutex());
            closed_ = true;
        }
        drain(UINT64_MAX, [](completion_type& waiter) { abort(std::move(waiter)); });
    }

    std::size_t size() const noexcept {
        std::lock_guard hold(core_->mutex());
        return core_->size();
    }

    /// Completes a waiter as a cancelled one.
    static void abort(completion_type waiter) {
        waiter.complete(error_code(asio::error::operation_aborted), Args()...);
    }

private:
    class entry final : public wait_entry {
    public:
        explicit entry(completion_type&& given) : waiter(std::move(given)) {}
        void finish(error_code ec) noexcept override { waiter.complete(ec, Args()...); }
        void drop() noexcept override { const auto gone = std::move(waiter); }
        completion_type waiter;
    };

    static completion_type waiter_of(const std::shared_ptr<wait_entry>& taken) {
        return taken ? std::move(static_cast<entry&>(*taken).waiter) : completion_type();
    }

    template <class Ready>
    wait_outcome ask(Ready& ready) {
        std::lock_guard hold(core_->mutex());
        if (closed_)
            return wait_outcome::closed;
        return ready() ? wait_outcome::ready : wait_outcome::waits;
    }

    template <class Each>
    std::size_t drain(std::uint64_t ticket, Each each) {
        std::size_t count = 0;
        for (;; ++count) {  // ends: later waiters have higher tickets
            std::shared_ptr<wait_entry> taken;
            {
                std::lock_guard hold(core_->mutex());
                taken = core_->pop(ticket);
            }
            if (!taken)
                return count;
            auto waiter = waiter_of(taken);
            each(waiter);
        }
    }

    std::shared_ptr<wait_fifo> core_;
    bool closed_ = false;  // under the mutex
};

}  // namespace mortise::coro::detail

#endif
