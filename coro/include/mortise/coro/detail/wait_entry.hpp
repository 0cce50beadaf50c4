// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_WAIT_ENTRY_HPP
#define MORTISE_CORO_DETAIL_WAIT_ENTRY_HPP

#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/coro/fwd.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace mortise::coro::detail {

class wait_entry;

/// A list of entries, and the mutex that guards them together with the primitive's own state.
/// Sections under the mutex are short; no handler is ever run or destroyed there.
class wait_core {
public:
    wait_core() = default;
    wait_core(const wait_core&) = delete;
    wait_core& operator=(const wait_core&) = delete;
    virtual ~wait_core() = default;

    std::mutex& mutex() noexcept { return mutex_; }

private:
    friend class wait_entry;
    virtual void remove(wait_entry& entry) noexcept = 0;  // under the mutex
    virtual void removed() noexcept {}                    // after it, for cancellations only

    std::mutex mutex_;
};

/// One wait, which leaves its list by completion, by cancellation, or with its context. Exactly one
/// of the three takes it out, under the list's mutex, and then owns the handler.
class wait_entry : public shutdown_hook, public std::enable_shared_from_this<wait_entry> {
public:
    /// Connects the slot to this wait. Call it in the initiating call, before the entry is in a
    /// list.
    void listen(asio::cancellation_slot slot);

    /// Takes the entry out of its list if it still stands there, and completes it. Any thread.
    void cancel() noexcept;

    // For lists, under their mutex.

    /// False if the context, if any, is ending: the entry then does not wait.
    [[nodiscard]] bool
    enter(const std::shared_ptr<wait_core>& core, asio::execution_context* context);
    /// Ends the wait, but leaves the entry registered with its context.
    void stop_waiting() noexcept { waiting_ = false; }
    void leave() noexcept {
        stop_waiting();
        wait_service::unlink(*this);
    }
    bool waiting() const noexcept { return waiting_; }

    /// Completes the handler by post.
    virtual void finish(error_code ec) noexcept = 0;
    /// Destroys the handler without completing it.
    virtual void drop() noexcept = 0;

    // Links of the list that the entry stands in.
    std::shared_ptr<wait_entry> held;
    wait_entry* before = nullptr;
    wait_entry* after = nullptr;
    std::uint64_t ticket = 0;

protected:
    /// Takes the entry out of its list; false if somebody else did.
    bool withdraw() noexcept;
    void shut_down() noexcept override;

private:
    std::weak_ptr<wait_core> core_;
    bool waiting_ = false;
};

/// Entries in the order of their arrival. All members are guarded by the mutex of the core.
class wait_fifo final : public wait_core {
public:
    /// False if the entry's context is ending: the caller then drops it.
    [[nodiscard]] static bool push(
        const std::shared_ptr<wait_fifo>& fifo,
        std::shared_ptr<wait_entry> entry,
        asio::execution_context* context
    );
    /// Takes the oldest entry, if its ticket is not above `newest`.
    std::shared_ptr<wait_entry> pop(std::uint64_t newest = UINT64_MAX) noexcept;
    /// Takes the oldest entry, but leaves it registered with its context.
    std::shared_ptr<wait_entry> pop_linked() noexcept;

    std::uint64_t newest() const noexcept { return tickets_; }
    std::size_t size() const noexcept { return size_; }

private:
    void remove(wait_entry& entry) noexcept override;

    wait_entry* first_ = nullptr;
    wait_entry* last_ = nullptr;
    std::size_t size_ = 0;
    std::uint64_t tickets_ = 0;
};

}  // namespace mortise::coro::detail

#endif
