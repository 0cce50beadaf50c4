// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_WAITER_LIST_HPP
#define MORTISE_CLIENT_WAITER_LIST_HPP

#include "client/local_waiter.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace mortise::detail {

/// Waiters in the order of their arrival; linked through themselves, so that leaving costs nothing.
class waiter_list {
public:
    waiter_list() = default;
    waiter_list(waiter_list&& other) noexcept { swap(other); }
    waiter_list& operator=(waiter_list&& other) noexcept {
        waiter_list taken(std::move(other));
        swap(taken);
        return *this;
    }
    ~waiter_list() {
        while (!empty())
            pop();
    }

    bool empty() const noexcept { return first_ == nullptr; }
    std::size_t size() const noexcept { return size_; }
    local_waiter* first() const noexcept { return first_; }
    local_waiter& front() const noexcept { return *first_; }

    void push(std::shared_ptr<local_waiter> waiter) noexcept {
        local_waiter* const it = waiter.get();
        it->before = last_;
        it->after = nullptr;
        (last_ != nullptr ? last_->after : first_) = it;
        last_ = it;
        ++size_;
        it->self = std::move(waiter);
    }

    std::shared_ptr<local_waiter> pop() noexcept { return remove(*first_); }

    std::shared_ptr<local_waiter> remove(local_waiter& it) noexcept {
        (it.before != nullptr ? it.before->after : first_) = it.after;
        (it.after != nullptr ? it.after->before : last_) = it.before;
        it.before = it.after = nullptr;
        --size_;
        return std::move(it.self);
    }

private:
    void swap(waiter_list& other) noexcept {
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
        std::swap(size_, other.size_);
    }

    local_waiter* first_ = nullptr;
    local_waiter* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace mortise::detail

#endif
