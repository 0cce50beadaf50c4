// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_POSTGRES_PG_STATEMENTS_HPP
#define MORTISE_POSTGRES_PG_STATEMENTS_HPP

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace mortise::postgres_detail {

/// A statement that is prepared at the server, or is about to be.
struct pg_statement {
    enum class state : std::uint8_t { sent, known, gone };

    std::string text;
    std::string name;
    state at_server = state::sent;
};

/// The prepared statements of one connection, by their texts; the one that was used the longest ago
/// makes room. No I/O.
class pg_statements {
public:
    explicit pg_statements(std::size_t most) : most_(most) {}

    /// Whether statements are kept at all.
    bool any() const noexcept { return most_ > 0; }

    /// The statement of this text, if it is prepared or is about to be.
    std::shared_ptr<pg_statement> find(std::string_view text) {
        const auto found = by_text_.find(text);
        if (found == by_text_.end())
            return nullptr;
        order_.splice(order_.begin(), order_, found->second);
        return order_.front();
    }

    /// A new one with a name of its own.
    std::shared_ptr<pg_statement> add(std::string text) {
        auto statement = std::make_shared<pg_statement>();
        statement->text = std::move(text);
        statement->name = "m" + std::to_string(++count_);
        order_.push_front(statement);
        by_text_.emplace(statement->text, order_.begin());
        return statement;
    }

    /// Takes out the one that must make room for another, if there are as many as may be. One that
    /// is not known yet stays: its place at the server may be needed by messages under way.
    std::shared_ptr<pg_statement> take_oldest() {
        if (order_.size() < most_ || order_.empty())
            return nullptr;
        const auto oldest = order_.back();
        if (oldest->at_server != pg_statement::state::known)
            return nullptr;
        forget(*oldest);
        return oldest;
    }

    void forget(pg_statement& statement) {
        statement.at_server = pg_statement::state::gone;
        const auto found = by_text_.find(statement.text);
        if (found == by_text_.end() || found->second->get() != &statement)
            return;
        const auto kept = *found->second;  // its text is the key
        order_.erase(found->second);
        by_text_.erase(found);
    }

    std::size_t size() const noexcept { return order_.size(); }

private:
    const std::size_t most_;
    std::uint64_t count_ = 0;
    std::list<std::shared_ptr<pg_statement>> order_;  ///< The one that was used last comes first.
    std::unordered_map<std::string_view, std::list<std::shared_ptr<pg_statement>>::iterator>
        by_text_;
};

}  // namespace mortise::postgres_detail

#endif
