// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/granting_sets.hpp"

#include "core/planted_bug.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace mortise::store_detail {

std::size_t granting_sets::majority() const noexcept {
    return nodes_.size() / 2 + (MORTISE_PLANTED(minority_suffices) ? 0 : 1);
}

void granting_sets::opened(std::size_t node, clock::time_point sent) {
    nodes_.at(node).serial = ++last_serial_;
    nodes_[node].acknowledged = sent;
}

void granting_sets::acknowledged(std::size_t node, clock::time_point sent) {
    nodes_.at(node).acknowledged = std::max(nodes_[node].acknowledged, sent);
}

void granting_sets::lose_all() noexcept {
    for (session_at_node& each : nodes_)
        each.serial = 0;
}

proof_number granting_sets::grant(const std::vector<std::size_t>& voters) {
    serials set(nodes_.size());
    for (const std::size_t node : voters)
        set.at(node) = nodes_.at(node).serial;
    proof_number free = 1;
    for (auto& [number, each] : sets_) {
        if (each.of == set) {
            ++each.grants;
            return number;
        }
        if (number == free)
            ++free;
    }
    kept_set& fresh = sets_[free];
    fresh.of = std::move(set);
    fresh.grants = 1;
    return free;
}

void granting_sets::release(proof_number number) {
    if (const auto found = sets_.find(number); found != sets_.end() && found->second.grants != 0)
        --found->second.grants;
}

std::size_t granting_sets::live(const serials& set) const {
    std::size_t count = 0;
    for (std::size_t node = 0; node < set.size(); ++node) {
        const bool is_same = set[node] == nodes_[node].serial || MORTISE_PLANTED(any_node_proves);
        count += set[node] != 0 && is_same;
    }
    return count;
}

std::vector<clock::time_point> granting_sets::acknowledgements(proof_number number) const {
    const auto found = sets_.find(number);
    std::vector<clock::time_point> all;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        const auto present = nodes_[node].serial;
        const auto of = number == 0 ? present : found == sets_.end() ? 0 : found->second.of[node];
        const bool is_same = of == present || MORTISE_PLANTED(any_node_proves);
        if (of != 0 && present != 0 && is_same)
            all.push_back(nodes_[node].acknowledged);
    }
    std::sort(all.begin(), all.end(), std::greater<>());
    return all;
}

bool granting_sets::is_kept(proof_number number) const {
    return acknowledgements(number).size() >= majority();
}

std::optional<clock::time_point> granting_sets::base(proof_number number) const {
    const auto all = acknowledgements(number);
    if (all.size() < majority())
        return std::nullopt;
    return all[majority() - 1];
}

std::optional<clock::time_point> granting_sets::newest() const {
    const auto all = acknowledgements(0);
    return all.empty() ? std::nullopt : std::optional(all.front());
}

bool granting_sets::is_proved_since(proof_number number, clock::time_point since) const {
    const auto counts_from = base(number);
    return counts_from && *counts_from >= since;
}

bool granting_sets::are_proved_since(clock::time_point since) const {
    return is_proved_since(0, since) &&
           std::all_of(sets_.begin(), sets_.end(), [&](const auto& each) {
               return each.second.grants == 0 || !is_kept(each.first) ||
                      is_proved_since(each.first, since);
           });
}

std::vector<proof_number> granting_sets::retired() const {
    std::vector<proof_number> all;
    for (const auto& [number, set] : sets_) {
        const auto size = static_cast<std::size_t>(std::count_if(
            set.of.begin(), set.of.end(), [](std::uint64_t serial) { return serial != 0; }
        ));
        const std::size_t alive = live(set.of);
        if (alive < majority() || (set.grants == 0 && alive < size))
            all.push_back(number);
    }
    return all;
}

}  // namespace mortise::store_detail
