// SPDX-License-Identifier: BSL-1.0
#include "db/postgres_run.hpp"

#include "mortise/coro/detail/cancel_proxy.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <utility>
#include <vector>

namespace mortise::db::detail {
namespace {

using postgres_detail::exception_of;
using postgres_detail::pg_reply;
using postgres_detail::pg_step;

std::exception_ptr aborted() {
    return std::make_exception_ptr(
        boost::system::system_error(error_code(asio::error::operation_aborted))
    );
}

bool is_conflict(const error_code& code) {
    return code == postgres_error("40001") || code == postgres_error("40P01");
}

// A number is drawn only for a transaction that has written. The history is the timeline of the
// write-ahead log, which is another one after each promotion.
constexpr const char* trace_statement =
    "SELECT pg_current_xact_id_if_assigned()::text, CASE WHEN pg_is_in_recovery() THEN '' ELSE"
    " substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END";

}  // namespace

postgres_run::postgres_run(
    std::shared_ptr<postgres_core> core,
    transaction_options options,
    std::shared_ptr<postgres_body> body
)
    : core_(std::move(core)),
      options_(options),
      body_(std::move(body)),
      executor_(body_->executor()),
      backoff_(options.pause, core_->draw_seed()) {}

void postgres_run::begin() {
    stage_ = stage::waiting;
    ++attempts_;
    begun_ = took_control_ = false;
    wrote_ = true;
    mark_ = {};
    first_failure_ = {};
    failure_ = nullptr;
    ticket_ = core_->pool().take([self = shared_from_this(
                                  )](pg_failure why, std::shared_ptr<pg_connection> connection) {
        self->got_connection(std::move(why), std::move(connection));
    });
}

void postgres_run::refuse() {
    failure_ = aborted();
    deliver();
}

void postgres_run::got_connection(pg_failure why, std::shared_ptr<pg_connection> connection) {
    if (why.code == asio::error::operation_aborted)
        return refuse();
    if (why) {
        failure_ = exception_of(why);
        return deliver();
    }
    stage_ = stage::running;
    connection_ = std::move(connection);
    start_body();
    core_->note_sizes();
}

// Posts, because the closure runs where its caller does, and never inside of the strand.
void postgres_run::start_body() {
    asio::post(executor_, [self = shared_from_this(), body = body_] {
        body->start(self, self->handle_, self->stop_.slot(), [self](std::exception_ptr failure) {
            asio::dispatch(self->core_->strand(), [self, failure = std::move(failure)] {
                self->body_ended(failure);
            });
        });
    });
}

void postgres_run::on_cancel(asio::cancellation_type_t type) {
    cancelled_ = true;
    switch (stage_) {
    case stage::waiting:
        if (core_->pool().withdraw(ticket_))
            refuse();
        break;
    case stage::pausing:
        alarm_.cancel();
        refuse();
        break;
    case stage::running:
        asio::post(executor_, [self = shared_from_this(), type] { self->stop_.emit(type); });
        break;
    case stage::ending:
        limit_end();
        break;
    case stage::ended:
        break;
    }
}

// A server that stands still must not hold up the end of a transaction that nobody wants.
void postgres_run::limit_end() {
    if (alarm_.is_set())
        return;
    alarm_.set(
        *core_->time(),
        core_->strand(),
        core_->time()->now() + core_->config().cancel_max,
        [self = shared_from_this()] {
            self->connection_->close(
                {errc::store_unavailable, "the server did not end the transaction in time"}
            );
        }
    );
}

std::string postgres_run::begin_statement() const {
    std::string text = "BEGIN";
    if (options_.level == isolation::read_committed)
        text += " ISOLATION LEVEL READ COMMITTED";
    else if (options_.level == isolation::repeatable_read)
        text += " ISOLATION LEVEL REPEATABLE READ";
    else if (options_.level == isolation::serializable)
        text += " ISOLATION LEVEL SERIALIZABLE";
    return text + (options_.read_only ? " READ ONLY" : "");
}

void postgres_run::query(const std::shared_ptr<postgres_query>& wanted) {
    if (stage_ != stage::running || wanted->cancelled)
        return wanted->complete(aborted());
    if (controls_transaction(wanted->sql.text)) {
        took_control_ = true;
        return wanted->complete(
            exception_of({errc::transaction_control, wanted->sql.text.substr(0, 80)})
        );
    }
    if (const auto refusal = postgres_detail::refusal_of(wanted->sql))
        return wanted->complete(exception_of(refusal));
    std::vector<pg_step> steps;
    if (!std::exchange(begun_, true))
        steps.emplace_back(bound_sql(begin_statement()), false);
    steps.emplace_back(std::move(wanted->sql));
    queries_.insert(wanted);
    wanted->message = connection_->exchange(
        std::move(steps),
        [self = shared_from_this(), wanted](pg_reply reply) {
            self->answered(wanted, std::move(reply));
        }
    );
}

void postgres_run::answered(const std::shared_ptr<postgres_query>& wanted, pg_reply reply) {
    queries_.erase(wanted);
    const pg_failure& why = reply.first_failure();
    if (why)
        note_failure(why);
    if (reply.answers.size() > 1 && reply.answers.front().failure)
        begun_ = false;  // the next statement must not run outside of a transaction
    using state = pg_connection::transaction;
    const bool settled = connection_ && connection_->usable() && !connection_->busy();
    const auto now = settled ? connection_->transaction_state() : state::open;
    if (!why && now == state::none)
        took_control_ = true;  // by a way that its first words do not show
    if (!why && now == state::open)
        first_failure_ = {};  // a savepoint has undone it, or the server would have refused
    if (!why)
        return wanted->complete(nullptr, std::move(reply.answers.back().result));
    // A signal had this effect: it is no failure of the statement.
    const bool by_signal =
        wanted->cancelled && (reply.failure || why.code == postgres_error("57014"));
    wanted->complete(by_signal ? aborted() : exception_of(why));
}

void postgres_run::note_failure(const pg_failure& why) {
    if (!first_failure_)
        first_failure_ = why;
}

void postgres_run::cancel(const postgres_query& running) {
    if (connection_ && running.message != 0)
        connection_->cancel(running.message);
}

void postgres_run::body_ended(std::exception_ptr failure) {
    stage_ = stage::ending;
    failure_ = std::move(failure);
    using state = pg_connection::transaction;
    if (took_control_)
        failure_ = exception_of({errc::transaction_control, "in a closure"});
    if (!begun_) {
        if (!failure_ && first_failure_)
            failure_ = exception_of(first_failure_);
        return conclude();
    }
    if (!connection_->check()) {  // before a commit whose outcome would be unknown
        if (!failure_)
            failure_ = exception_of(first_failure_ ? first_failure_ : connection_->last_words());
        return conclude();
    }
    const bool settled = !connection_->busy();
    if (!failure_ && settled && connection_->transaction_state() == state::failed)
        failure_ = exception_of(first_failure_);
    if (cancelled_)
        limit_end();
    if (failure_)
        roll_back();
    else if (options_.traced && !options_.read_only)
        trace();
    else
        commit();
}

void postgres_run::roll_back() {
    limit_end();
    for (const auto& each : queries_)
        cancel(*each);  // nobody waits for it any longer, and the ROLLBACK waits behind it
    connection_->exchange(
        {pg_step(bound_sql("ROLLBACK"))},
        [self = shared_from_this()](const pg_reply&) {
            ++self->core_->counts.rolled_back;
            self->conclude();
        }
    );
}

void postgres_run::trace() {
    connection_->exchange(
        {pg_step(bound_sql(trace_statement))},
        [self = shared_from_this()](const pg_reply& reply) {
            if (const pg_failure& why = reply.first_failure()) {
                self->note_failure(why);
                self->failure_ = exception_of(why);
                return self->connection_->usable() ? self->roll_back() : self->conclude();
            }
            const row& found = reply.answers.front().result.first();
            self->wrote_ = !found.is_null(0);
            if (self->wrote_)
                self->mark_ = transaction_mark(found.text(0), found.text(1));
            self->commit();
        }
    );
}

void postgres_run::commit() {
    connection_->exchange(
        {pg_step(bound_sql("COMMIT"))},
        [self = shared_from_this()](const pg_reply& reply) {
            self->committed(reply);
            self->conclude();
        }
    );
}

// A COMMIT of a transaction in which a statement failed is answered by ROLLBACK, and no error.
void postgres_run::committed(const pg_reply& reply) {
    if (reply.failure && reply.sent && wrote_ && !options_.read_only) {
        ++core_->counts.commits_unknown;
        failure_ = std::make_exception_ptr(lost_commit(mark_, reply.failure.text));
        return;
    }
    const pg_failure& why = reply.first_failure();
    if (!why && reply.answers.front().tag == "COMMIT") {
        ++core_->counts.committed;
        return;
    }
    ++core_->counts.rolled_back;
    if (why)
        note_failure(why);
    else
        note_failure({errc::rolled_back, "the server answered the COMMIT by a ROLLBACK"});
    failure_ = exception_of(first_failure_);
}

bool postgres_run::may_repeat() const {
    return failure_ && !cancelled_ && !took_control_ && attempts_ < options_.attempts_max &&
           is_conflict(first_failure_.code);
}

void postgres_run::conclude() {
    alarm_.cancel();
    const auto used = std::exchange(connection_, nullptr);
    core_->pool().give_back(used);
    if (may_repeat())
        pause();
    else
        deliver();
}

void postgres_run::pause() {
    stage_ = stage::pausing;
    ++core_->counts.repeated;
    alarm_.set(
        *core_->time(),
        core_->strand(),
        core_->time()->now() + backoff_.next(),
        [self = shared_from_this()] { self->begin(); }
    );
}

void postgres_run::deliver() {
    stage_ = stage::ended;
    const auto body = std::exchange(body_, nullptr);
    const auto failure = std::exchange(failure_, nullptr);
    body->deliver(failure);  // first: a stop is answered after all that it waited for
    core_->ended(shared_from_this());
}

void postgres_run::drop() noexcept {
    stage_ = stage::ended;
    alarm_.cancel();
    const auto queries = std::exchange(queries_, {});
    const auto used = std::exchange(connection_, nullptr);
    const auto body = std::exchange(body_, nullptr);
}

void start_transaction(
    const std::shared_ptr<postgres_core>& core,
    transaction_options options,
    std::shared_ptr<postgres_body> body
) {
    if (core->deserted())
        return;
    const auto slot = body->release_slot();
    const auto run = std::make_shared<postgres_run>(core, options, std::move(body));
    coro::detail::install_cancel_proxy<postgres_run>(slot, core->strand(), run);
    core->begin(run);
}

}  // namespace mortise::db::detail
