// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/wait_entry.hpp"

#include "mortise/coro/assert.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace mortise::coro::detail {

namespace {

// Cancels a wait. It stays in the slot after the wait has ended, because only the coroutine's own
// strand may touch a slot, and the wait is completed elsewhere. It then finds nothing to cancel.
class canceller {
public:
    explicit canceller(std::weak_ptr<wait_entry> entry) : entry_(std::move(entry)) {}

    void operator()(asio::cancellation_type_t type) const {
        if (type == asio::cancellation_type::none)
            return;
        if (const auto entry = entry_.lock())
            entry->cancel();
    }

private:
    std::weak_ptr<wait_entry> entry_;
};

}  // namespace

void wait_entry::listen(asio::cancellation_slot slot) {
    if (slot.is_connected())
        slot.emplace<canceller>(weak_from_this());
}

void wait_entry::cancel() noexcept {
    if (withdraw())
        finish(asio::error::operation_aborted);
}

void wait_entry::shut_down() noexcept {
    if (withdraw())
        drop();
}

bool wait_entry::enter(const std::shared_ptr<wait_core>& core, asio::execution_context* context) {
    MORTISE_ASSERT(!waiting_);
    core_ = core;
    if (context != nullptr && !wait_service::of(*context).link(shared_from_this()))
        return false;
    waiting_ = true;
    return true;
}

bool wait_entry::withdraw() noexcept {
    const auto core = core_.lock();
    if (!core)
        return false;
    {
        std::lock_guard hold(core->mutex());
        if (!waiting_)
            return false;
        leave();
        core->remove(*this);
    }
    core->removed();
    return true;
}

bool wait_fifo::push(
    const std::shared_ptr<wait_fifo>& fifo,
    std::shared_ptr<wait_entry> entry,
    asio::execution_context* context
) {
    if (!entry->enter(fifo, context))
        return false;
    entry->ticket = ++fifo->tickets_;
    entry->before = fifo->last_;
    (fifo->last_ != nullptr ? fifo->last_->after : fifo->first_) = entry.get();
    fifo->last_ = entry.get();
    ++fifo->size_;
    entry->held = std::move(entry);
    return true;
}

std::shared_ptr<wait_entry> wait_fifo::pop_linked() noexcept {
    if (first_ == nullptr)
        return nullptr;
    auto oldest = first_->held;
    remove(*oldest);
    oldest->stop_waiting();
    return oldest;
}

std::shared_ptr<wait_entry> wait_fifo::pop(std::uint64_t newest) noexcept {
    if (first_ == nullptr || first_->ticket > newest)
        return nullptr;
    auto oldest = pop_linked();
    oldest->leave();
    return oldest;
}

void wait_fifo::remove(wait_entry& entry) noexcept {
    MORTISE_ASSERT(size_ > 0);
    (entry.before != nullptr ? entry.before->after : first_) = entry.after;
    (entry.after != nullptr ? entry.after->before : last_) = entry.before;
    entry.before = nullptr;
    entry.after = nullptr;
    --size_;
    entry.held.reset();  // never the last reference: each caller has one
}

}  // namespace mortise::coro::detail
