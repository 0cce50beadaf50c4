// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/ballot.hpp"

#include "core/planted_bug.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

ballot::ballot(std::size_t nodes, order_key own, bool joins)
    : seats_(nodes), key_(std::move(own)), joins_(joins) {}

void ballot::begin(std::uint64_t at_least) {
    guess_ = std::max({at_least, guess_, counter_}) + 1;
    for (seat& each : seats_) {
        each.at = stand::unknown;
        each.asked = false;
    }
}

ballot::question ballot::ask(std::size_t node) {
    seats_.at(node).asked = true;
    return {guess_, seats_[node].yields};
}

void ballot::answered(std::size_t node, const question& asked, ballot_answer answer) {
    if (asked.guess != guess_)
        return;
    seat& from = seats_.at(node);
    from.asked = false;
    counter_ = std::max(counter_, answer.counter);
    const bool voted = answer.type == ballot_answer::kind::voted;
    if (from.at == stand::freed && from.news > answer.news && !voted)
        return;  // The message is newer than the answer, which it has overtaken.
    if (voted && asked.yields != from.yields)
        return;  // The node has got that question before the vote was given back.
    if (voted && !answer.other.owner.empty())
        challenged(node, answer.other);
    switch (answer.type) {
    case ballot_answer::kind::voted:
        from.at = stand::voted;
        break;
    case ballot_answer::kind::low:
        from.at = stand::low;
        break;
    case ballot_answer::kind::taken:
        from.at = stand::taken;
        break;
    case ballot_answer::kind::behind:
        from.at = stand::behind;
        break;
    case ballot_answer::kind::closed:
        from.at = stand::closed;
        break;
    }
    from.other = std::move(answer.other);
    from.contended = answer.contended;
    from.news = std::max(from.news, answer.news);
}

void ballot::freed(std::size_t node, std::uint64_t news) {
    seat& from = seats_.at(node);
    if (news <= from.news || from.at == stand::voted)
        return;
    from.at = stand::freed;
    from.news = news;
}

void ballot::opened(std::size_t node) {
    if (seats_.at(node).at == stand::closed)
        seats_.at(node).at = stand::freed;
}

void ballot::challenged(std::size_t node, order_key other) {
    seats_.at(node).contended = true;
    if (!challenger_ || other < *challenger_)
        challenger_ = std::move(other);
}

void ballot::lost(std::size_t node) {
    const auto yields = seats_.at(node).yields;
    seats_[node] = seat();
    seats_[node].yields = yields;
}

void ballot::yielded() {
    challenger_.reset();
    for (seat& each : seats_) {
        if (each.at != stand::voted && each.at != stand::low)
            continue;
        each.at = stand::yielded;
        ++each.yields;
    }
}

void ballot::not_yielded(std::size_t node) {
    if (seats_.at(node).at == stand::yielded)
        lost(node);
}

std::size_t ballot::majority() const noexcept {
    return seats_.size() / 2 + (MORTISE_PLANTED(minority_suffices) ? 0 : 1);
}

std::size_t ballot::count(stand at) const {
    return static_cast<std::size_t>(std::count_if(
        seats_.begin(), seats_.end(), [at](const seat& each) { return each.at == at; }
    ));
}

bool ballot::knows_smaller() const {
    if (challenger_ && *challenger_ < key_)
        return true;
    return std::any_of(seats_.begin(), seats_.end(), [this](const seat& each) {
        return (each.at == stand::taken || each.at == stand::behind) && each.other < key_;
    });
}

ballot::verdict ballot::judge() const {
    const std::size_t votes = count(stand::voted);
    if (votes >= majority())
        return verdict::granted;
    const std::size_t low = count(stand::low);
    if (votes + low + count(stand::freed) >= majority())
        return verdict::again;
    if (!joins_) {
        const std::size_t silent = count(stand::unknown);
        return seats_.size() - silent < majority() ? verdict::unreachable : verdict::refused;
    }
    if (votes + low != 0 && knows_smaller())
        return verdict::yield;
    return count(stand::unknown) > seats_.size() - majority() ? verdict::unreachable
                                                              : verdict::wait;
}

std::vector<std::size_t> ballot::voters() const {
    std::vector<std::size_t> nodes;
    for (std::size_t node = 0; node < seats_.size(); ++node) {
        if (seats_[node].at == stand::voted)
            nodes.push_back(node);
    }
    return nodes;
}

std::vector<std::size_t> ballot::to_yield() const {
    std::vector<std::size_t> nodes;
    for (std::size_t node = 0; node < seats_.size(); ++node) {
        if (seats_[node].at == stand::voted || seats_[node].at == stand::low)
            nodes.push_back(node);
    }
    return nodes;
}

bool ballot::contended() const noexcept {
    return std::any_of(seats_.begin(), seats_.end(), [](const seat& each) {
        return each.at == stand::voted && each.contended;
    });
}

bool ballot::is_decided() const {
    const std::size_t votes = count(stand::voted);
    const std::size_t open = count(stand::unknown);
    const std::size_t usable = votes + count(stand::low) + count(stand::freed);
    const bool can_win = votes + open >= majority();
    const bool can_wait = joins_ && seats_.size() - open >= majority();
    return votes >= majority() || usable + open < majority() ||
           (usable >= majority() && !can_win) || can_wait || open == 0;
}

}  // namespace mortise::store_detail
