// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/lone_locks.hpp"

#include <utility>

namespace mortise::store_detail {

const lone_locks::lone_lock* lone_locks::find(const std::string& name) const {
    const auto found = locks_.find(name);
    return found == locks_.end() ? nullptr : &found->second;
}

bool lone_locks::wants_watch(const std::string& name) const {
    const auto* const lock = find(name);
    return lock && lock->in_a_row > 0 && !lock->watched;
}

void lone_locks::note_watch(const std::string& name) {
    auto& lock = locks_.at(name);
    lock.watched = true;
    lock.sure = false;
}

bool lone_locks::expects(const std::string& name) const {
    const auto* const lock = find(name);
    return lock && lock->in_a_row > 0 && lock->sure && lock->next;
}

bool lone_locks::note_creation(const std::string& name, std::uint32_t number) {
    const auto found = locks_.find(name);
    if (found == locks_.end())
        return false;
    auto& lock = found->second;
    const bool next = std::exchange(lock.next, std::nullopt) == number;
    lock.in_a_row = next ? lock.in_a_row + 1 : 0;
    const bool first = next && lock.sure;
    lock.sure = lock.watched;
    return first;
}

void lone_locks::note_deletion(const std::string& name, std::uint32_t number) {
    const auto found = locks_.find(name);
    if (found != locks_.end())
        found->second.next = number + 1;
    else if (make_room())
        locks_[name].next = number + 1;
}

void lone_locks::doubt(const std::string& name) {
    locks_.erase(name);
}

// Those without a watch can be forgotten; the servers end the others, when their locks are not used
// any more.
bool lone_locks::make_room() {
    if (locks_.size() >= locks_max)
        std::erase_if(locks_, [](const auto& each) { return !each.second.watched; });
    return locks_.size() < locks_max;
}

}  // namespace mortise::store_detail
