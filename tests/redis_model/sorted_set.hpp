// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_SORTED_SET_HPP
#define MORTISE_TESTS_REDIS_MODEL_SORTED_SET_HPP

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace mortise::redis_model {

/// Members sorted by their scores, then by their bytes.
class sorted_set {
public:
    using place = std::pair<double, std::string>;
    using order = std::set<place>;

    bool empty() const noexcept { return scores_.empty(); }
    std::size_t size() const noexcept { return scores_.size(); }
    const order& in_order() const noexcept { return order_; }

    std::optional<double> score(const std::string& member) const {
        const auto found = scores_.find(member);
        return found == scores_.end() ? std::nullopt : std::optional<double>(found->second);
    }

    void put(const std::string& member, double score) {
        remove(member);
        scores_.emplace(member, score);
        order_.emplace(score, member);
    }

    bool remove(const std::string& member) {
        const auto found = scores_.find(member);
        if (found == scores_.end())
            return false;
        order_.erase({found->second, member});
        scores_.erase(found);
        return true;
    }

    /// How many members stand before it.
    std::optional<std::size_t> rank(const std::string& member) const {
        const auto found = scores_.find(member);
        if (found == scores_.end())
            return std::nullopt;
        const auto at = order_.find({found->second, member});
        return static_cast<std::size_t>(std::distance(order_.begin(), at));
    }

private:
    std::map<std::string, double> scores_;
    order order_;
};

}  // namespace mortise::redis_model

#endif
