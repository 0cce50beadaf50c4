// SPDX-License-Identifier: BSL-1.0
#include "coordinator/open_transactions.hpp"

#include "coordinator/partitions.hpp"

#include <utility>

namespace mortise::txn::detail {

void open_transactions::add(const running_ptr& transaction) {
    table_.emplace(transaction->gid.number, transaction);
    resumed_ += transaction->resumed;
    ++context_.count.open;
}

void open_transactions::remove(running& transaction) {
    table_.erase(transaction.gid.number);
    uncount(transaction);
}

open_transactions::table open_transactions::take_all() {
    auto all = std::exchange(table_, {});
    for (const auto& [number, transaction] : all)
        uncount(*transaction);
    return all;
}

std::vector<running_ptr> open_transactions::take_all_in(const partition& home) {
    std::vector<running_ptr> found;
    for (const auto& [number, transaction] : table_) {
        if (transaction->home == &home)
            found.push_back(transaction);
    }
    for (const auto& each : found)
        remove(*each);
    return found;
}

running_ptr open_transactions::find(std::uint64_t number) const {
    const auto found = table_.find(number);
    return found == table_.end() ? nullptr : found->second;
}

bool open_transactions::holds(const running& transaction) const {
    const auto found = table_.find(transaction.gid.number);
    return found != table_.end() && found->second.get() == &transaction;
}

void open_transactions::mark_stuck(running& transaction, bool stuck) {
    if (std::exchange(transaction.for_people, stuck) == stuck)
        return;
    const auto change = [stuck](std::size_t& count) { stuck ? ++count : --count; };
    change(stuck_);
    if (transaction.resumed)
        change(resumed_stuck_);
}

bool open_transactions::mark_slow(running& transaction) {
    if (!transaction.resumed || transaction.slow || !holds(transaction))
        return false;
    transaction.slow = true;
    ++slow_;
    return true;
}

void open_transactions::mark_suspicious(running& transaction) {
    if (std::exchange(transaction.suspicious, true))
        return;
    ++transaction.home->suspicious;
    ++context_.count.suspicious;
}

void open_transactions::uncount(running& transaction) {
    --context_.count.open;
    resumed_ -= transaction.resumed;
    slow_ -= transaction.slow;
    mark_stuck(transaction, false);
    if (std::exchange(transaction.suspicious, false)) {
        --transaction.home->suspicious;
        --context_.count.suspicious;
    }
}

}  // namespace mortise::txn::detail
