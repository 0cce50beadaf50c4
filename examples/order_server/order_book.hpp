// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_ORDER_BOOK_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_ORDER_BOOK_HPP

#include "mortise/db/connection.hpp"
#include "mortise/txn/gid.hpp"
#include "order_server/order.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The shop's book of orders: a table with one row for each key of each buyer. A buyer that asks
/// again gets the stored answer.
namespace order_server::order_book {

// The states of an order.
inline constexpr std::string_view pending = "pending";  ///< Not decided, or not carried out.
inline constexpr std::string_view accepted = "accepted";
inline constexpr std::string_view shipped = "shipped";
inline constexpr std::string_view taken_back = "taken back";
inline constexpr std::string_view sold_out = "sold out";
inline constexpr std::string_view no_money = "not enough money";

class entry {
public:
    entry() = default;  // declared: no aggregate (docs/compilers.md, G3)
    bool is(std::string_view wanted_state) const { return state == wanted_state; }

    std::int64_t number = 0;
    std::string item;
    std::string state;
    mortise::txn::gid under;  ///< The transaction that began it; none if refused.
};

void make_table(mortise::db::connection& on);

std::optional<entry> find(mortise::db::connection& on, const order& order);
std::optional<entry> find(mortise::db::connection& on, std::int64_t number);

/// @return whether this is the first order with its key.
bool begin(mortise::db::connection& on, const order& order, const mortise::txn::gid& under);
/// @return the order with its number.
order accept(mortise::db::connection& on, order order);
/// Removes the order, as if it had never begun.
void forget(mortise::db::connection& on, const order& order);
/// Stores the refusal, unless the key has another answer by now.
void refuse(mortise::db::connection& on, const order& order, std::string_view why);

/// Stores what the shippers report, and counts how often: each report must have its effect once.
/// @throws std::runtime_error if there is no such order.
void hear(mortise::db::connection& on, const order& order, std::string_view state);

}  // namespace order_server::order_book

#endif
