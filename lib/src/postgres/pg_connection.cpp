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

using wait_type = asio::posix::stream_descriptor::wait_type;

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
      sender_(settings_->statements_max) {}

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
    auto& added = messages_.emplace_back();
    added.id = id;
    added.steps = std::move(steps);
    added.then = std::move(then);
    added.reply.answers.resize(added.steps.size());
    added.syncs = sender_.send(socket_.get(), added.steps);
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

// Sends what is left, takes what has come, and waits for the rest.
void pg_connection::pump() {
    if (!usable())
        return;
    const int left = ::PQflush(socket_.get());
    if (left < 0 || sender_.failed())
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
    socket_.wait(
        wait_type::wait_read,
        [self = shared_from_this()](const boost::system::error_code&) {
            self->reading_ = false;
            if (self->usable() && self->check())
                self->pump();
        }
    );
}

void pg_connection::wait_writable() {
    if (std::exchange(writing_, true))
        return;
    socket_.wait(
        wait_type::wait_write,
        [self = shared_from_this()](const boost::system::error_code&) {
            self->writing_ = false;
            self->pump();
        }
    );
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
    while (usable() && !answer_held_ && !sender_.empty() && !::PQisBusy(socket_.get())) {
        owned_result result(::PQgetResult(socket_.get()));
        if (result)
            take(*result);
        else if (sender_.next().type != pg_sender::expected::kind::sync)
            sender_.pop();  // a statement ends without a result, a Sync with one only
        else if (std::exchange(sync_failed_, false))
            continue;  // the failure has ended so, and the Sync follows
        else
            break;  // libpq has nothing more, because the connection was lost
    }
    if (usable())
        take_notifications();
}

void pg_connection::take(const PGresult& result) {
    switch (::PQresultStatus(&result)) {
    case PGRES_PIPELINE_SYNC:
        return take_sync();
    case PGRES_PIPELINE_ABORTED:
        return take_failure(aborted_by_);
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
        return take_answer(result);
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
        return close({errc::unsupported, "COPY: a session has no way to send or take its data"});
    default:
        break;
    }
    auto why = failure_of(result, settings_->password);
    if (ends_connection(result))
        last_words_ = why;
    aborted_by_ = why;
    take_failure(std::move(why));
}

void pg_connection::take_answer(const PGresult& result) {
    const auto& next = sender_.next();
    if (next.type == pg_sender::expected::kind::prepared) {
        next.statement->at_server = pg_statement::state::known;
    } else if (next.type == pg_sender::expected::kind::answer) {
        auto& answer = messages_.front().reply.answers[next.step];
        answer.result = rows_of(result);
        answer.tag = ::PQcmdStatus(const_cast<PGresult*>(&result));  // it changes nothing
    }
}

void pg_connection::take_failure(pg_failure why) {
    const auto& next = sender_.next();
    if (next.type == pg_sender::expected::kind::sync)
        return take_failed_sync(why);
    if (next.type == pg_sender::expected::kind::forgotten) {
        if (!is_stale(why.code))
            sender_.forget_again(next.statement);
        return;
    }
    const auto& statement = next.statement;
    if (statement && (next.type == pg_sender::expected::kind::prepared || is_stale(why.code)))
        sender_.forget(*statement);
    auto& answer = messages_.front().reply.answers[next.step];
    if (!answer.failure)
        answer.failure = std::move(why);
}

// A transaction without a COMMIT of its own is committed by its Sync. If that fails, all of its
// steps are undone, although they were answered well.
void pg_connection::take_failed_sync(const pg_failure& why) {
    sync_failed_ = true;
    auto& first = messages_.front();
    std::size_t step = sender_.next().step;
    if (step >= first.steps.size())
        return;  // the Sync behind statements that are forgotten
    do {
        auto& answer = first.reply.answers[step];
        if (!answer.failure)
            answer.failure = why;
    } while (step-- > 0 && !first.steps[step].ends);
}

void pg_connection::take_sync() {
    aborted_by_ = {};
    sync_failed_ = false;
    sender_.pop();
    auto& first = messages_.front();
    if (++first.answered < first.syncs)
        return;
    if (cancelling_)
        answer_held_ = true;
    else
        deliver_first();
}

void pg_connection::deliver_first() {
    auto& first = messages_.front();
    cancel_alarm_.cancel();
    repeat_alarm_.cancel();
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

void pg_connection::listen(notified handler, std::function<void()> ended) {
    notified_ = std::move(handler);
    ended_ = std::move(ended);
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
// place.
void pg_connection::request_cancel() {
    if (messages_.empty() || !usable())
        return;
    auto& first = messages_.front();
    if (!first.cancel_wanted || std::exchange(first.cancel_sent, true))
        return;
    was_cancelled_ = true;
    send_cancel();
    cancel_alarm_
        .set(*time_, strand_, time_->now() + settings_->cancel_max, [weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->close({errc::store_unavailable, "the server does not answer a cancellation"});
        });
}

// The request needs a connection of its own, which libpq opens in a way that blocks.
void pg_connection::send_cancel() {
    const std::shared_ptr<PGcancel> request(::PQgetCancel(socket_.get()), &::PQfreeCancel);
    cancelling_ = true;
    run_beside_(
        [request] {
            std::array<char, 256> words{};
            if (request)
                ::PQcancel(request.get(), words.data(), static_cast<int>(words.size()));
        },
        [weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->cancel_arrived();
        }
    );
}

// Gives the answer that was held back: as long as the request was under way, it could still have
// hit the next statement, and with it a commit. If there is no answer yet, the request may have
// arrived before the statement: the server forgets it then, so it is sent again.
void pg_connection::cancel_arrived() {
    cancelling_ = false;
    if (!usable())
        return;
    if (std::exchange(answer_held_, false)) {
        deliver_first();
        return pump();
    }
    constexpr std::chrono::milliseconds pause(50);
    repeat_alarm_.set(*time_, strand_, time_->now() + pause, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self && self->usable() && self->busy() && self->messages_.front().cancel_sent)
            self->send_cancel();
    });
}

// Ends the connection with the words that the server has left in libpq's buffer, or libpq's own.
void pg_connection::lost() {
    constexpr int results_max = 4;
    const bool ended = ::PQstatus(socket_.get()) == CONNECTION_BAD;  // else libpq would wait
    for (int i = 0; i < results_max && ended && !last_words_ && !sender_.empty(); ++i) {
        const owned_result result(::PQgetResult(socket_.get()));
        if (result && ends_connection(*result))
            last_words_ = failure_of(*result, settings_->password);
    }
    if (!last_words_)
        last_words_ = {errc::store_unavailable, words_of_libpq()};
    if (ended_)
        asio::post(strand_, std::exchange(ended_, nullptr));
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
    last_words_ = last_words_ ? last_words_ : why;
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
    repeat_alarm_.cancel();
    const auto unanswered = std::exchange(messages_, {});
    const auto handler = std::exchange(notified_, nullptr);
    const auto ended = std::exchange(ended_, nullptr);
    sender_.clear();
    socket_.close();
}

}  // namespace mortise::postgres_detail
