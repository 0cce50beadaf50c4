// SPDX-License-Identifier: BSL-1.0
#include "db/pg_session_connection.hpp"

#include "mortise/db/postgres_error.hpp"

#include <vector>

namespace mortise::db::detail {

using postgres_detail::pg_connection;
using postgres_detail::pg_failure;
using postgres_detail::pg_reply;
using postgres_detail::pg_step;

namespace {

std::string begin_statement(const transaction_options& options) {
    std::string text = "BEGIN";
    if (options.level == isolation::read_committed)
        text += " ISOLATION LEVEL READ COMMITTED";
    else if (options.level == isolation::repeatable_read)
        text += " ISOLATION LEVEL REPEATABLE READ";
    else if (options.level == isolation::serializable)
        text += " ISOLATION LEVEL SERIALIZABLE";
    return text + (options.read_only ? " READ ONLY" : "");
}

// The characters of a name need no escape.
std::string quoted(const prepared_name& name) {
    return '\'' + name.global() + '/' + name.branch() + '\'';
}

// A number is drawn only for a transaction that has written. The history is the timeline of the
// write-ahead log, which is another one after each promotion.
constexpr const char* trace_statement =
    "SELECT pg_current_xact_id_if_assigned()::text, CASE WHEN pg_is_in_recovery() THEN '' ELSE"
    " substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END";

}  // namespace

server_failure failure_of(const pg_failure& why) {
    return {why.code, why.text, postgres_detail::remedy_of(why.code)};
}

void pg_session_connection::open(ended then) {
    on_->open([then = std::move(then)](const pg_failure& why) { then(failure_of(why)); });
}

void pg_session_connection::probe(ended then) {
    on_->exchange({}, [then = std::move(then)](const pg_reply& reply) {
        then(failure_of(reply.failure));
    });
}

void pg_session_connection::begin(
    const transaction_options& options, const prepared_name& name, ended then
) {
    options_ = options;
    begin_ = begin_statement(options);
    name_ = quoted(name);
    begun_ = false;
    then({});
}

void pg_session_connection::forget_begin() noexcept {
    begin_.clear();
    begun_ = false;
}

server_connection::statement_id pg_session_connection::run(bound_sql statement, replied then) {
    std::vector<pg_step> steps;
    if (!begin_.empty() && !begun_) {
        begun_ = beginning_ = true;
        steps.emplace_back(bound_sql(begin_), false);
    }
    steps.emplace_back(std::move(statement));
    auto answered = [self = shared_from_this(), then = std::move(then)](pg_reply reply) {
        self->beginning_ = false;
        if (reply.answers.size() > 1 && reply.answers.front().failure)
            self->begun_ = false;
        server_reply answer;
        answer.failure = failure_of(reply.first_failure());
        answer.lost = reply.failure && reply.sent;
        if (!answer.failure)
            answer.result = std::move(reply.answers.back().result);
        then(std::move(answer));
    };
    return on_->exchange(std::move(steps), std::move(answered));
}

void pg_session_connection::commit(committed then) {
    if (!options_.traced || options_.read_only)
        return send_commit(!options_.read_only, {}, std::move(then));
    on_->exchange(
        {pg_step(bound_sql(trace_statement))},
        [self = shared_from_this(), then = std::move(then)](const pg_reply& reply) {
            if (const auto& why = reply.first_failure())
                return then({failure_of(why), false, {}});
            const row& found = reply.answers.front().result.first();
            const bool wrote = !found.is_null(0);
            transaction_mark mark;
            if (wrote)
                mark = transaction_mark(found.text(0), found.text(1));
            self->send_commit(wrote, std::move(mark), then);
        }
    );
}

// A COMMIT of a transaction in which a statement failed is answered by ROLLBACK, and no error.
void pg_session_connection::send_commit(bool wrote, transaction_mark mark, committed then) {
    on_->exchange(
        {pg_step(bound_sql("COMMIT"))},
        [self = shared_from_this(), wrote, mark = std::move(mark), then = std::move(then)](
            const pg_reply& reply
        ) {
            self->forget_begin();
            server_ending ending;
            ending.failure = failure_of(reply.first_failure());
            ending.unknown = reply.failure && reply.sent && wrote;
            ending.mark = mark;
            if (!ending.failure && reply.answers.front().tag != "COMMIT")
                ending.failure = {
                    errc::rolled_back, "the server answered the COMMIT by a ROLLBACK"};
            then(std::move(ending));
        }
    );
}

void pg_session_connection::roll_back(ended then) {
    on_->exchange(
        {pg_step(bound_sql("ROLLBACK"))},
        [self = shared_from_this(), then = std::move(then)](const pg_reply& reply) {
            self->forget_begin();
            then(failure_of(reply.first_failure()));
        }
    );
}

// A transaction in which a statement failed is rolled back without an error here, too.
void pg_session_connection::prepare(committed then) {
    on_->exchange(
        {pg_step(bound_sql("PREPARE TRANSACTION " + name_))},
        [self = shared_from_this(), then = std::move(then)](const pg_reply& reply) {
            self->forget_begin();
            server_ending ending;
            ending.failure = failure_of(reply.first_failure());
            ending.unknown = reply.failure && reply.sent;
            if (!ending.failure && reply.answers.front().tag != "PREPARE TRANSACTION")
                ending.failure = {
                    errc::rolled_back, "the server answered PREPARE TRANSACTION by a ROLLBACK"};
            then(std::move(ending));
        }
    );
}

void pg_session_connection::end_prepared(
    const prepared_name& name, prepared_end how, replied then
) {
    const std::string begin =
        how == prepared_end::commit ? "COMMIT PREPARED " : "ROLLBACK PREPARED ";
    on_->exchange(
        {pg_step(bound_sql(begin + quoted(name)))},
        [then = std::move(then)](const pg_reply& reply) {
            server_reply answer;
            answer.failure = failure_of(reply.first_failure());
            answer.lost = reply.failure && reply.sent;
            then(std::move(answer));
        }
    );
}

bool pg_session_connection::reusable() const noexcept {
    return usable() && !retired && !on_->was_cancelled() && !busy() &&
           state() == transaction_state::none;
}

transaction_state pg_session_connection::state() const noexcept {
    switch (on_->transaction_state()) {
    case pg_connection::transaction::open:
        return transaction_state::open;
    case pg_connection::transaction::failed:
        return transaction_state::failed;
    case pg_connection::transaction::none:
        break;
    }
    return transaction_state::none;
}

}  // namespace mortise::db::detail
