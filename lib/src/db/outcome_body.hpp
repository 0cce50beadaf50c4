// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_OUTCOME_BODY_HPP
#define MORTISE_DB_OUTCOME_BODY_HPP

#include "mortise/db/detail/transaction_body.hpp"
#include "mortise/db/server_database.hpp"
#include "mortise/db/transaction_mark.hpp"

#include <exception>
#include <memory>
#include <utility>

namespace mortise::db::detail {

/// A closure that looks up an outcome. What it has found is true however its own transaction ends,
/// except for `rolled_back`, which may rest on something that it has written.
template <class Connection, class Look>
class outcome_body final : public typed_transaction_body<Connection, Look> {
    using base = typed_transaction_body<Connection, Look>;

public:
    using base::base;

    void deliver(std::exception_ptr failure) override {
        const auto& found = this->value();
        if (found && *found != transaction_outcome::rolled_back)
            failure = nullptr;
        base::deliver(std::move(failure));
    }
};

template <class Connection, class Look>
void start_look(
    coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
    const std::shared_ptr<server_session>& session,
    bool read_only,
    Look look
) {
    transaction_options options;
    options.traced = false;
    options.read_only = read_only;
    start_transaction(
        session,
        options,
        std::make_shared<outcome_body<Connection, Look>>(std::move(done), std::move(look))
    );
}

}  // namespace mortise::db::detail

#endif
