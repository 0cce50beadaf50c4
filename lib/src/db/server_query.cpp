// SPDX-License-Identifier: BSL-1.0
#include "db/server_query.hpp"

#include "mortise/db/server_database.hpp"

#include <utility>

namespace mortise::db::detail {

server_query::server_query(completion done, bound_sql statement)
    : sql(std::move(statement)), done_(std::move(done)) {}

void server_query::deliver(std::exception_ptr failure, query_result result) {
    done_.complete(std::move(failure), std::move(result));
}

// A signal that had an effect is told as such: it is no failure of the statement.
std::exception_ptr
judge(const server_reply& reply, const server_query& query, const server_place& place, bool alone) {
    const server_failure& why = reply.failure;
    if (!why)
        return nullptr;
    if (query.cancelled && (reply.lost || place.is_interruption(why.code)))
        return exception_of(aborted());
    if (alone && reply.lost)
        return exception_of({errc::outcome_unknown, why.text, "look whether the statement was done"}
        );
    return exception_of(why);
}

void complete(
    caller_hold& caller,
    const std::shared_ptr<server_query>& query,
    std::exception_ptr failure,
    query_result result
) {
    caller.settle(std::weak_ptr(query), [&](server_query& settled) {
        settled.deliver(std::move(failure), std::move(result));
    });
}

server_statement::server_statement(
    std::shared_ptr<server_session> session, std::shared_ptr<server_query> query
)
    : server_task(std::move(session), query->executor()), query_(std::move(query)) {}

void server_statement::got_connection() {
    const auto& place = session_->place();
    if (query_->cancelled)
        return fail(aborted());
    if (place.controls_transaction(query_->sql.text, false))
        return fail({errc::transaction_control, query_->sql.text.substr(0, 80), "use async_run"});
    if (const auto refusal = place.refusal_of(query_->sql))
        return fail(refusal);
    query_->id = connection_->run(
        std::move(query_->sql),
        [self = std::static_pointer_cast<server_statement>(shared_from_this())](server_reply reply
        ) { self->answered(std::move(reply)); }
    );
}

void server_statement::answered(server_reply reply) {
    if (query_->cancelled && reply.lost)
        ++session_->counts.abandoned;
    give_back_connection();
    auto failure = judge(reply, *query_, session_->place(), true);
    complete(*caller_, query_, std::move(failure), std::move(reply.result));
    end();
}

void server_statement::fail(const server_failure& why) {
    give_back_connection();
    complete(*caller_, query_, exception_of(why));
    end();
}

void server_statement::on_cancel(asio::cancellation_type_t) {
    if (std::exchange(query_->cancelled, true))
        return;
    if (connection_ && query_->id != 0) {
        ++session_->counts.cancelled;
        connection_->cancel(query_->id);
    } else if (!connection_ && withdraw()) {
        refuse();
    }
}

void server_handle::start_query(
    coro::detail::completion<void(std::exception_ptr, query_result)> done,
    std::shared_ptr<server_session> session,
    bound_sql statement
) {
    const auto query = std::make_shared<server_query>(std::move(done), std::move(statement));
    const auto slot = query->release_slot();
    std::make_shared<server_statement>(std::move(session), query)->submit(query, slot);
}

}  // namespace mortise::db::detail
