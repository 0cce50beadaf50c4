// SPDX-License-Identifier: BSL-1.0
#include "postgres/pg_connection.hpp"

#include "mortise/db/postgres_error.hpp"
#include "mortise/detail/secret.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace mortise::postgres_detail {
namespace {

using way = asio::posix::stream_descriptor::wait_type;

// A statement that the server has planned for a table of another shape, or does not know.
bool is_stale(const error_code& code) {
    return code == db::postgres_error("0A000") || code == db::postgres_error("26000");
}

}  // namespace

pg_connection::pg_connection(
    asio::any_io_executor strand,
    std::shared_ptr<const db::postgres_config> settings,
    std::shared_ptr<coro::time_source> time,
    beside run_beside
)
    : strand_(std::move(strand)),
      settings_(std::move(settings)),
      time_(std::move(time)),
      run_beside_(std::move(run_beside)),
      socket_(strand_),
      statements_(settings_->statements_max) {}

void pg_connection::open(pg_opening::done_function done) {
    opening_ = std::make_shared<pg_opening>(
        strand_,
        settings_,
        time_,
        socket_,
        [self = shared_from_this(), done = std::move(done)](pg_failure why) {
            self->opening_.reset();
            if (why) {
                self->stage_ = stage::closed;
                self->socket_.close();
            } else {
                self->stage_ = stage::open;
                ::PQsetNoticeReceiver(self->socket_.get(), &pg_connection::on_notice, self.get());
            }
            done(std::move(why));
        }
    );
    opening_->start();
}

// Keeps the words with which the server ends a connection that has nothing under way: libpq takes
// them for a notice.
void pg_connection::on_notice(void* self, const PGresult* notice) {
    auto& mine = *static_cast<pg_connection*>(self);
    if (ends_connection(*notice))
        mine.last_words_ = failure_of(*notice, mine.settings_->password);
}

pg_connection::message_id pg_connection::exchange(std::vector<pg_step> steps, replied then) {
    const message_id id = ++last_id_;
    if (!usable()) {
        fail_later(std::move(then), {errc::store_unavailable, "the connection was closed"});
        return id;
    }
    for (const auto& each : steps) {
        if (auto refusal = refusal_of(each.sql)) {
            fail_later(std::move(then), std::move(refusal));
            return id;
        }
    }
    if (!steps.empty())
        steps.back().ends = true;
    auto& added = messages_.emplace_back();
    added.id = id;
    added.steps = std::move(steps);
    added.then = std::move(then);
    added.reply.answers.resize(added.steps.size());
    send(added);
    // Later, so that nothing is answered inside this call.
    asio::post(strand_, [self = shared_from_this()] { self->pump(); });
    return id;
}

void pg_connection::fail_later(replied then, pg_failure why) {
    asio::post(strand_, [then = std::move(then), why = std::move(why)]() mutable {
        pg_reply reply;
        reply.failure = std::move(why);
        reply.sent = false;
        then(std::move(reply));
    });
}

// Puts the message into libpq's buffer, whose last Sync writes it out.
void pg_connection::send(message& to_send) {
    if (to_send.steps.empty()) {
        expect({expected::kind::sync, 0, nullptr}, ::PQpipelineSync(socket_.get()));
        return;
    }
    to_send.syncs = 0;
    for (std::size_t i = 0; i < to_send.steps.size(); ++i) {
        send_step(to_send.steps[i], i);
        if (to_send.steps[i].ends) {
            expect({expected::kind::sync, i, nullptr}, ::PQpipelineSync(socket_.get()));
            ++to_send.syncs;
        }
    }
    send_evictions(to_send);
}

// Has the server forget statements for which there is no room any longer. They go behind the
// message: in a transaction that has failed, the server refuses this, and would skip the rest.
void pg_connection::send_evictions(message& to_send) {
    if (evicted_.empty())
        return;
    PGconn* const to = socket_.get();
    for (const auto& each : std::exchange(evicted_, {})) {
        const std::string text = "DEALLOCATE " + each;
        expect(
            {expected::kind::forgotten, 0, nullptr},
            ::PQsendQueryParams(to, text.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0)
        );
    }
    expect({expected::kind::sync, 0, nullptr}, ::PQpipelineSync(to));
    ++to_send.syncs;
}

// Notes what was sent; if libpq has failed, the answers that come can no longer be told apart, and
// `pump` ends the connection.
void pg_connection::expect(expected next, int sent) {
    expected_.push_back(std::move(next));
    send_failed_ = send_failed_ || sent != 1;
}

void pg_connection::send_step(const pg_step& step, std::size_t number) {
    PGconn* const to = socket_.get();
    const char* const text = step.sql.text.c_str();
    pg_parameters parameters(step.sql.values);
    auto statement = statements_.any() ? statements_.find(step.sql.text) : nullptr;
    if (statements_.any() && !statement) {
        if (const auto oldest = statements_.take_oldest())
            evicted_.push_back(oldest->name);
        statement = statements_.add(step.sql.text);
        expect(
            {expected::kind::prepared, number, statement},
            ::PQsendPrepare(to, statement->name.c_str(), text, 0, nullptr)
        );
    } else if (statement && statement->at_server != pg_statement::state::known) {
        statement.reset();  // its preparation may still fail
    }
    const auto count = parameters.count();
    const auto* const values = parameters.values();
    const auto* const lengths = parameters.lengths();
    const auto* const formats = parameters.formats();
    const int sent =
        statement
            ? ::PQsendQueryPrepared(to, statement->name.c_str(), count, values, lengths, formats, 0)
            : ::PQsendQueryParams(to, text, count, nullptr, values, lengths, formats, 0);
    expect({expected::kind::answer, number, std::move(statement)}, sent);
}

// Sends what is left, takes what has come, and waits for the rest.
void pg_connection::pump() {
    if (!usable())
        return;
    const int left = ::PQflush(socket_.get());
    if (left < 0 || send_failed_)
        return lost();
    collect();
    if (!usable())
        return;
    if (left > 0)
        wait_writable();
    if (busy() || notified_)
        wait_readable();
}

void pg_connection::wait_readable() {
    if (std::exchange(reading_, true))
        return;
    socket_.wait(way::wait_read, [self = shared_from_this()](const boost::system::error_code&) {
        self->reading_ = false;
        if (self->usable() && self->check())
            self->pump();
    });
}

void pg_connection::wait_writable() {
    if (std::exchange(writing_, true))
        return;
    socket_.wait(way::wait_write, [self = shared_from_this()](const boost::system::error_code&) {
        self->writing_ = false;
        self->pump();
    });
}

bool pg_connection::check() {
    if (!usable())
        return false;
    const bool open = ::PQconsumeInput(socket_.get()) == 1;
    collect();
    if (usable() && (!open || last_words_ || ::PQstatus(socket_.get()) == CONNECTION_BAD))
        lost();
    return usable();
}

void pg_connection::collect() {
    const auto kept = shared_from_this();
    while (usable() && !expected_.empty() && !::PQisBusy(socket_.get()))
        take(owned_result(::PQgetResult(socket_.get())));
    if (usable())
        take_notifications();
}

// Each statement is reported by a result and an end without one, each Sync by a result only.
void pg_connection::take(owned_result result) {
    if (!result) {
        if (expected_.front().type != expected::kind::sync)
            expected_.pop_front();
        return;
    }
    switch (::PQresultStatus(result.get())) {
    case PGRES_PIPELINE_SYNC:
        return take_sync();
    case PGRES_PIPELINE_ABORTED:
        return take_failure(aborted_by_);
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
        return take_answer(*result);
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
        return close({errc::unsupported, "COPY: a session has no way to send or take its data"});
    default:
        break;
    }
    auto why = failure_of(*result, settings_->password);
    if (ends_connection(*result))
        last_words_ = why;
    aborted_by_ = why;
    take_failure(std::move(why));
}

void pg_connection::take_answer(const PGresult& result) {
    const auto& next = expected_.front();
    if (next.type == expected::kind::prepared) {
        next.statement->at_server = pg_statement::state::known;
    } else if (next.type == expected::kind::answer) {
        auto& answer = messages_.front().reply.answers[next.step];
        answer.result = rows_of(result);
        answer.tag = ::PQcmdStatus(const_cast<PGresult*>(&result));  // it changes nothing
    }
}

void pg_connection::take_failure(pg_failure why) {
    const auto& next = expected_.front();
    if (next.type == expected::kind::sync || next.type == expected::kind::forgotten)
        return;
    const auto& statement = next.statement;
    if (statement && (next.type == expected::kind::prepared || is_stale(why.code)))
        statements_.forget(*statement);
    auto& answer = messages_.front().reply.answers[next.step];
    if (!answer.failure)
        answer.failure = std::move(why);
}

void pg_connection::take_sync() {
    aborted_by_ = {};
    expected_.pop_front();
    auto& first = messages_.front();
    if (++first.answered < first.syncs)
        return;
    cancel_alarm_.cancel();
    auto then = std::move(first.then);
    auto reply = std::move(first.reply);
    reply.cancelled = first.cancel_sent;
    messages_.pop_front();
    request_cancel();  // the next one may have waited for that
    then(std::move(reply));
}

void pg_connection::take_notifications() {
    while (usable()) {
        PGnotify* const push = ::PQnotifies(socket_.get());
        if (!push)
            return;
        pg_notification news{push->relname, push->extra, push->be_pid};
        ::PQfreemem(push);
        if (notified_)
            notified_(std::move(news));
    }
}

void pg_connection::listen(notified handler) {
    notified_ = std::move(handler);
    asio::post(strand_, [self = shared_from_this()] { self->pump(); });
}

void pg_connection::cancel(message_id id) {
    const auto found = std::find_if(messages_.begin(), messages_.end(), [id](const message& each) {
        return each.id == id;
    });
    if (found == messages_.end() || !usable())
        return;
    found->cancel_wanted = true;
    request_cancel();
}

// Asks for the end of the first message; a later one would have another statement cancelled in its
// place. The request needs a connection of its own, which libpq opens in a way that blocks.
void pg_connection::request_cancel() {
    if (messages_.empty() || !usable())
        return;
    auto& first = messages_.front();
    if (!first.cancel_wanted || std::exchange(first.cancel_sent, true))
        return;
    was_cancelled_ = true;
    const std::shared_ptr<PGcancel> request(::PQgetCancel(socket_.get()), &::PQfreeCancel);
    if (request) {
        run_beside_([request] {
            std::array<char, 256> words{};
            ::PQcancel(request.get(), words.data(), static_cast<int>(words.size()));
        });
    }
    cancel_alarm_
        .set(*time_, strand_, time_->now() + settings_->cancel_max, [weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->close({errc::store_unavailable, "the server does not answer a cancellation"});
        });
}

// Ends the connection with the words that the server has left in libpq's buffer, or libpq's own.
void pg_connection::lost() {
    constexpr int results_max = 4;
    for (int i = 0; i < results_max && !last_words_ && !expected_.empty(); ++i) {
        const owned_result result(::PQgetResult(socket_.get()));
        if (result && ends_connection(*result))
            last_words_ = failure_of(*result, settings_->password);
    }
    if (!last_words_)
        last_words_ = {errc::store_unavailable, words_of_libpq()};
    close(last_words_);
}

std::string pg_connection::words_of_libpq() const {
    std::string words = ::PQerrorMessage(socket_.get());
    while (words.ends_with('\n'))
        words.pop_back();
    std::replace(words.begin(), words.end(), '\n', ' ');
    if (words.empty())
        words = "the server closed the connection";
    return mortise::detail::without_secret(std::move(words), settings_->password);
}

pg_connection::transaction pg_connection::transaction_state() const noexcept {
    switch (socket_.get() ? ::PQtransactionStatus(socket_.get()) : PQTRANS_UNKNOWN) {
    case PQTRANS_INTRANS:
        return transaction::open;
    case PQTRANS_INERROR:
        return transaction::failed;
    default:
        return transaction::none;
    }
}

void pg_connection::close(pg_failure why) {
    const auto kept = shared_from_this();
    auto unanswered = std::exchange(messages_, {});
    if (!last_words_)
        last_words_ = why;
    drop();
    for (auto& each : unanswered) {
        each.reply.failure = why;
        each.reply.cancelled = each.cancel_sent;
        each.then(std::move(each.reply));
    }
}

void pg_connection::drop() noexcept {
    stage_ = stage::closed;
    if (const auto opening = std::exchange(opening_, nullptr))
        opening->drop();
    cancel_alarm_.cancel();
    const auto unanswered = std::exchange(messages_, {});
    const auto handler = std::exchange(notified_, nullptr);
    expected_.clear();
    socket_.close();
}

}  // namespace mortise::postgres_detail
