// SPDX-License-Identifier: BSL-1.0
#include "db/server_transaction.hpp"

#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/db/server_database.hpp"
#include "mortise/db/transaction_connection.hpp"

#include <utility>

namespace mortise::db::detail {

server_transaction::server_transaction(
    std::shared_ptr<server_session> session,
    transaction_options options,
    const std::shared_ptr<transaction_body>& body
)
    : server_task(std::move(session), body->executor()),
      options_(options),
      name_(body->name()),
      body_(body),
      backoff_(options.pause, session_->draw_seed()) {}

std::shared_ptr<server_transaction> server_transaction::self() {
    return std::static_pointer_cast<server_transaction>(shared_from_this());
}

void server_transaction::begin() {
    stage_ = stage::waiting;
    ++attempts_;
    took_control_ = false;
    first_failure_ = {};
    failure_ = nullptr;
    server_task::begin();
}

void server_transaction::fail(const server_failure& why) {
    failure_ = exception_of(why);
    deliver();
}

void server_transaction::got_connection() {
    stage_ = stage::beginning;
    connection_->begin(options_, name_, [self = self()](const server_failure& why) {
        self->begun(why);
    });
    if (stage_ == stage::beginning)
        limit(session_->limits().answer_max);
}

// Begins again, on another connection, if the one from the pool turns out to be dead: nothing was
// done on it yet.
void server_transaction::begun(const server_failure& why) {
    alarm_.cancel();
    if (why && !connection_->usable() && connection_->served && !cancelled_) {
        stage_ = stage::waiting;
        give_back_connection();
        return wait_for_connection(server_pool::rank::first);
    }
    if (why)
        first_failure_ = why;
    if (why || cancelled_) {
        stage_ = stage::ending;
        failure_ = exception_of(cancelled_ ? aborted() : why);
        return connection_->begun() && connection_->usable() ? roll_back() : conclude();
    }
    number_ = connection_->number();
    mark_ = connection_->mark();
    stage_ = stage::running;
    start_body();
}

// Posts, because the closure runs where its caller does, and never inside of the strand.
void server_transaction::start_body() {
    caller_->post([self = self()] {
        const auto body = self->body_.lock();
        if (!body)
            return;
        body->start(self, [self](std::exception_ptr failure) {
            self->session_->post([self, failure = std::move(failure)] { self->body_ended(failure); }
            );
        });
    });
}

void server_transaction::on_cancel(asio::cancellation_type_t) {
    const bool first = !std::exchange(cancelled_, true);
    switch (stage_) {
    case stage::waiting:
        if (withdraw())
            refuse();
        break;
    case stage::pausing:
        alarm_.cancel();
        refuse();
        break;
    case stage::running:
        caller_->post([self = self()] {
            if (const auto body = self->body_.lock())
                body->stop();
        });
        break;
    case stage::beginning:
    case stage::ending:
        if (first)
            limit(session_->limits().cancel_max);
        break;
    case stage::ended:
        break;
    }
}

// The closure is gone, with all who waited for its statements.
void server_transaction::caller_ended() {
    if (stage_ != stage::running)
        return on_cancel(asio::cancellation_type::terminal);
    cancelled_ = true;
    body_ended(exception_of(aborted()));
}

// A server that stands still must not hold up the end of a transaction.
void server_transaction::limit(std::chrono::milliseconds most) {
    auto& time = session_->time();
    alarm_.set(time, session_->strand(), time.now() + most, [self = self()] {
        if (const auto kept = self->connection_)
            kept->close({errc::store_unavailable, "the server did not answer in time"});
    });
}

void server_transaction::query(const std::shared_ptr<server_query>& wanted) {
    const auto& place = session_->place();
    const auto refuse = [&](const server_failure& why) {
        complete(*caller_, wanted, exception_of(why));
    };
    if (stage_ != stage::running || wanted->cancelled)
        return refuse(aborted());
    if (place.controls_transaction(wanted->sql.text, true)) {
        took_control_ = true;
        return refuse(
            {errc::transaction_control,
             wanted->sql.text.substr(0, 80),
             "run it outside of a transaction, or leave the end of this one to the session"}
        );
    }
    if (const auto refusal = place.refusal_of(wanted->sql))
        return refuse(refusal);
    unsent_.push_back(wanted);
    send_next();
}

void server_transaction::send_next() {
    while (stage_ == stage::running && !unsent_.empty() && connection_->takes_statement()) {
        const auto next = unsent_.front();
        unsent_.pop_front();
        if (connection_->state() == transaction_state::doomed) {
            const std::string cause = "an earlier statement: " + first_failure_.code.message();
            complete(*caller_, next, exception_of({errc::rolled_back, cause}));
            continue;
        }
        sent_.insert(next);
        next->id =
            connection_->run(std::move(next->sql), [self = self(), next](server_reply reply) {
                self->answered(next, std::move(reply));
            });
    }
}

void server_transaction::answered(const std::shared_ptr<server_query>& wanted, server_reply reply) {
    sent_.erase(wanted);
    if (wanted->cancelled && reply.lost)
        ++session_->counts.abandoned;
    note_state(reply.failure);
    complete(
        *caller_, wanted, judge(reply, *wanted, session_->place(), false), std::move(reply.result)
    );
    send_next();
}

// A failure stands as long as the server sees it. Another statement may be under way, of which it
// has seen nothing yet.
void server_transaction::note_state(const server_failure& why) {
    const bool settled = connection_ && connection_->usable() && !connection_->busy();
    const auto now = settled ? connection_->state() : transaction_state::failed;
    if (now == transaction_state::open)
        first_failure_ = {};
    else if (why && !first_failure_)
        first_failure_ = why;
    if (now == transaction_state::none && !why)
        took_control_ = true;  // by a way that its first words do not show
}

void server_transaction::cancel(const std::shared_ptr<server_query>& unwanted) {
    if (std::exchange(unwanted->cancelled, true))
        return;
    if (connection_ && sent_.count(unwanted) > 0) {
        ++session_->counts.cancelled;
        connection_->cancel(unwanted->id);
    } else if (std::erase(unsent_, unwanted) > 0) {
        complete(*caller_, unwanted, exception_of(aborted()));
    }
}

void server_transaction::body_ended(std::exception_ptr failure) {
    if (stage_ != stage::running)
        return;
    stage_ = stage::ending;
    failure_ = std::move(failure);
    if (!failure_ && cancelled_)
        failure_ = exception_of(aborted());
    if (!failure_ && !(sent_.empty() && unsent_.empty()))
        failure_ = exception_of({errc::transaction_control, {}, "await each statement"});
    if (took_control_)
        failure_ = exception_of({errc::transaction_control, "in a closure"});
    for (const auto& each : std::exchange(unsent_, {}))
        complete(*caller_, each, exception_of(aborted()));
    const bool open = connection_->begun() && connection_->check();
    if (!failure_)
        judge_end();
    if (!open)
        conclude();
    else if (failure_)
        roll_back();
    else
        commit();
}

// Finds a failure that the closure has not let pass.
void server_transaction::judge_end() {
    const bool lost = connection_->begun() && !connection_->usable();
    if (connection_->usable() && connection_->state() == transaction_state::doomed) {
        failure_ = exception_of(
            {errc::rolled_back,
             first_failure_.code.message(),
             "let the error pass out of the closure"}
        );
    } else if (lost && !first_failure_) {
        failure_ = exception_of(connection_->last_words());
    } else if (first_failure_) {
        failure_ = exception_of(first_failure_);
    }
}

void server_transaction::roll_back() {
    limit(session_->limits().cancel_max);
    for (const auto& each : std::set(sent_))
        cancel(each);  // nobody waits for it any longer, and the ROLLBACK waits behind it
    connection_->roll_back([self = self()](const server_failure&) {
        ++self->session_->counts.rolled_back;
        self->conclude();
    });
}

void server_transaction::commit() {
    limit(session_->limits().answer_max);
    if (!name_.empty()) {
        const auto body = body_.lock();
        if (!body)
            return roll_back();  // its caller's context has ended
        if (body->prepares())
            return prepare();
    }
    connection_->commit([self = self()](server_ending ending) {
        self->committed(std::move(ending));
    });
}

void server_transaction::committed(server_ending ending) {
    auto& counts = session_->counts;
    if (!ending.failure) {
        ++counts.committed;
    } else if (ending.unknown) {
        ++counts.commits_unknown;
        failure_ = std::make_exception_ptr(
            lost_commit(std::move(ending.mark), std::move(ending.failure.text))
        );
    } else {
        return note_failed_end(ending.failure);
    }
    conclude();
}

void server_transaction::note_failed_end(const server_failure& why) {
    first_failure_ = why;
    failure_ = exception_of(why);
    if (connection_->usable() && connection_->state() != transaction_state::none)
        return roll_back();
    ++session_->counts.rolled_back;
    conclude();
}

void server_transaction::prepare() {
    connection_->prepare([self = self()](const server_ending& ending) { self->prepared(ending); });
}

// Without an answer the connection is lost; whoever ends the transaction uses another one.
void server_transaction::prepared(const server_ending& ending) {
    if (ending.failure && !ending.unknown)
        return note_failed_end(ending.failure);
    if (ending.failure) {
        failure_ = exception_of(
            {errc::outcome_unknown, ending.failure.text, "roll it back: it may be prepared"}
        );
        return conclude();
    }
    ++session_->counts.prepared;
    if (const auto body = body_.lock())
        body->note_prepared();
    if (connection_->holds_prepared())
        session_->keep_prepared(name_, std::exchange(connection_, nullptr));
    conclude();
}

bool server_transaction::may_repeat() const {
    return failure_ && !cancelled_ && !took_control_ && attempts_ < options_.attempts_max &&
           session_->place().is_conflict(first_failure_.code);
}

void server_transaction::conclude() {
    alarm_.cancel();
    if (connection_)
        connection_->forget_begin();
    give_back_connection();
    if (may_repeat())
        pause();
    else
        deliver();
}

void server_transaction::pause() {
    stage_ = stage::pausing;
    ++session_->counts.repeated;
    auto& time = session_->time();
    alarm_.set(time, session_->strand(), time.now() + backoff_.next(), [self = self()] {
        self->begin();
    });
}

void server_transaction::deliver() {
    stage_ = stage::ended;
    caller_->settle(body_, [&](transaction_body& body) {
        body.finish();
        body.deliver(std::exchange(failure_, nullptr));
    });
    failure_ = nullptr;
    end();
}

void server_transaction::drop() noexcept {
    stage_ = stage::ended;
    alarm_.cancel();
    unsent_.clear();
    sent_.clear();
    server_task::drop();
}

void start_transaction(
    const std::shared_ptr<server_session>& session,
    transaction_options options,
    std::shared_ptr<transaction_body> body
) {
    const auto task = std::make_shared<server_transaction>(session, options, body);
    const auto slot = body->release_slot();
    task->submit(std::move(body), slot);
}

closure_query::closure_query(
    completion done, std::shared_ptr<server_transaction> transaction, bound_sql statement
)
    : server_query(std::move(done), std::move(statement)), transaction_(std::move(transaction)) {}

void closure_query::start() {
    auto& session = transaction_->session();
    const auto self = shared_from_this();
    if (session.deserted() || !transaction_->caller().add(self))
        return;
    coro::detail::install_cancel_proxy(release_slot(), weak_from_this());
    session.post([self] { self->transaction_->query(self); });
}

void closure_query::on_cancel(asio::cancellation_type_t) {
    transaction_->cancel(shared_from_this());
}

}  // namespace mortise::db::detail

namespace mortise::db {

std::shared_ptr<detail::server_transaction> transaction_connection::shared_transaction() const {
    return std::static_pointer_cast<detail::server_transaction>(transaction_->shared_from_this());
}

void transaction_connection::start(
    coro::detail::completion<void(std::exception_ptr, query_result)> done,
    std::shared_ptr<detail::server_transaction> transaction,
    bound_sql statement
) {
    const auto query = std::make_shared<detail::closure_query>(
        std::move(done), std::move(transaction), std::move(statement)
    );
    query->start();
}

}  // namespace mortise::db
