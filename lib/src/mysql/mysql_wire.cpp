// SPDX-License-Identifier: BSL-1.0
#include "mysql/mysql_wire.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/db/mysql_error.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::db::detail {

using coro::detail::with_code;
using std::chrono::milliseconds;

namespace {

// The parts of a name need no escape.
std::string xid_of(const prepared_name& name) {
    return name.empty() ? "" : "'" + name.global() + "','" + name.branch() + "'";
}

}  // namespace

mysql_wire::mysql_wire(
    asio::any_io_executor strand,
    std::shared_ptr<mysql_place> place,
    std::shared_ptr<coro::time_source> time
)
    : strand_(std::move(strand)),
      place_(std::move(place)),
      time_(std::move(time)),
      on_(std::make_unique<boost::mysql::any_connection>(strand_, place_->connection_settings())) {
    on_->set_meta_mode(boost::mysql::metadata_mode::full);  // rows have names
}

// In a forked child the socket, and the set in which it is watched, are the parent's: to close it
// here would take it out of that set.
mysql_wire::~mysql_wire() {
    if (process_.forked())
        static_cast<void>(on_.release());
}

void mysql_wire::start(failing work, ended then) {
    busy_ = true;
    then_ = std::move(then);
    asio::co_spawn(
        strand_,
        std::move(work),
        asio::bind_cancellation_slot(
            stop_.slot(),
            asio::bind_executor(
                strand_,
                [kept = shared_from_this()](std::exception_ptr thrown, mysql_failure failed) {
                    if (thrown)
                        failed = {errc::store_unavailable, "out of memory", true};
                    kept->finished(std::move(failed));
                }
            )
        )
    );
}

// The end of the thing under way; of one that a `close` has ended, for nobody.
void mysql_wire::finished(mysql_failure failed) {
    if (closed_) {
        busy_ = false;
        return;
    }
    if (late_)
        failed = {errc::store_unavailable, std::move(failed.text), true};
    outcome_ = explain(failed);
    if (failed.ends_connection) {
        usable_ = false;
        last_words_ = outcome_;
    }
    doomed_ = doomed_ || (open_ && ends_transaction(failed.code));
    answered_ = true;
    if (!killing_)
        answer();
}

void mysql_wire::answer() {
    alarm_.cancel();
    if (std::exchange(cancelled_, false) && usable_ && !place_->is_interruption(outcome_.code)) {
        // A kill that comes after the statement hits the next one: this one.
        auto held = std::exchange(outcome_, {});
        auto then = std::exchange(then_, nullptr);
        auto absorbed =
            [this, held = std::move(held), then = std::move(then)](const server_failure& why) {
                if (why && !place_->is_interruption(why.code))
                    usable_ = false;
                then(held);
            };
        limit(place_->config.cancel_max);
        return start(send(shared_from_this(), {"DO 0"}), std::move(absorbed));
    }
    busy_ = false;
    if (const auto then = std::exchange(then_, nullptr))
        then(std::exchange(outcome_, {}));
}

server_failure mysql_wire::explain(const mysql_failure& failed) const {
    return failed.explain(place_->config.password);
}

void mysql_wire::limit(milliseconds most) {
    alarm_.set(*time_, strand_, time_->now() + most, [weak = weak_from_this()] {
        if (const auto kept = weak.lock())
            kept->close({errc::store_unavailable, "the server does not answer a cancellation"});
    });
}

void mysql_wire::open_within(milliseconds most, ended then) {
    alarm_.set(*time_, strand_, time_->now() + most, [weak = weak_from_this()] {
        if (const auto kept = weak.lock()) {
            kept->late_ = true;
            kept->stop_.emit(asio::cancellation_type::terminal);
        }
    });
    start(connect(shared_from_this(), most), std::move(then));
}

void mysql_wire::execute(texts statements, ended then) {
    start(send(shared_from_this(), std::move(statements)), std::move(then));
}

void mysql_wire::probe(ended then) {
    start(ping(shared_from_this()), std::move(then));
}

void mysql_wire::begin(const transaction_options& options, const prepared_name& name, ended then) {
    read_only_ = options.read_only;
    xid_ = xid_of(name);
    doomed_ = false;
    mark_ = {};
    const bool traced = options.traced && !options.read_only && name.empty();
    if (traced && !place_->config.outcome_table.empty())
        draw_mark();
    auto begun = [this, then = std::move(then)](const server_failure& why) {
        open_ = !why;
        retired = retired || why;  // a part of it may have been done
        then(why);
    };
    auto statements = first_statements(options);
    auto work = mark_.empty() ? send(shared_from_this(), std::move(statements))
                              : begin_traced(shared_from_this(), std::move(statements));
    start(std::move(work), std::move(begun));
}

server_connection::statement_id mysql_wire::run(bound_sql statement, replied then) {
    cancelled_ = answered_ = false;
    result_ = {};
    auto done = [this, then = std::move(then)](server_failure why) {
        server_reply reply;
        reply.lost = why && !usable_;
        if (!why)
            reply.result = std::exchange(result_, {});
        reply.failure = std::move(why);
        then(std::move(reply));
    };
    const auto id = ++statement_;
    start(perform(shared_from_this(), std::move(statement)), std::move(done));
    return id;
}

void mysql_wire::commit(committed then) {
    if (xid_.empty())
        end_by({"COMMIT"}, std::move(then));
    else
        end_by({"XA END " + xid_, "XA COMMIT " + xid_ + " ONE PHASE"}, std::move(then));
}

void mysql_wire::end_by(texts statements, committed then) {
    auto done = [this, then = std::move(then)](server_failure why) {
        server_ending ending;
        ending.mark = mark_;
        ending.unknown = why && !usable_;
        if (ending.unknown && read_only_)
            ending = {};  // there was nothing to commit
        else
            ending.failure = std::move(why);
        open_ = ending.failure && !ending.unknown;
        then(std::move(ending));
    };
    execute(std::move(statements), std::move(done));
}

void mysql_wire::prepare(committed then) {
    auto prepared = [this, then = std::move(then)](server_ending ending) {
        prepared_ = !ending.failure;
        then(std::move(ending));
    };
    end_by({"XA END " + xid_, "XA PREPARE " + xid_}, std::move(prepared));
}

void mysql_wire::end_prepared(const prepared_name& name, prepared_end how, replied then) {
    const std::string begin = how == prepared_end::commit ? "XA COMMIT " : "XA ROLLBACK ";
    execute({begin + xid_of(name)}, [this, then = std::move(then)](server_failure why) {
        prepared_ = prepared_ && why;
        server_reply reply;
        reply.lost = why && !usable_;
        reply.failure = std::move(why);
        then(std::move(reply));
    });
}

void mysql_wire::roll_back(ended then) {
    auto done = [this, then = std::move(then)](const server_failure& why) {
        usable_ = usable_ && !why;
        open_ = false;
        then(why);
    };
    texts undo = {"ROLLBACK"};
    if (!xid_.empty())
        undo = {"XA END " + xid_, "XA ROLLBACK " + xid_};
    if (!busy_)
        return execute(std::move(undo), std::move(done));
    // Behind a statement that is being cancelled, whose end nobody waits for.
    auto then_of_statement = std::exchange(then_, nullptr);
    then_ = [this,
             undo = std::move(undo),
             before = std::move(then_of_statement),
             done = std::move(done)](const server_failure& why) mutable {
        if (before)
            before(why);
        if (!usable_)
            return done(why);
        execute(std::move(undo), std::move(done));
    };
}

transaction_state mysql_wire::state() const noexcept {
    if (!open_)
        return transaction_state::none;
    return doomed_ ? transaction_state::doomed : transaction_state::open;
}

std::uint32_t mysql_wire::number() const noexcept {
    return on_ ? on_->connection_id().value_or(0) : 0;
}

void mysql_wire::cancel(statement_id statement) {
    if (!busy_ || answered_ || statement != statement_ || std::exchange(cancelled_, true))
        return;
    limit(place_->config.cancel_max);
    killing_ = true;
    killer_ = std::make_shared<mysql_wire>(strand_, place_, time_);
    const auto id = number();
    const auto most = std::min(place_->config.cancel_max, place_->config.connect_max);
    killer_->open_within(most, [weak = weak_from_this(), id](const server_failure& why) {
        const auto kept = weak.lock();
        if (!kept || !kept->killer_)
            return;
        if (why)
            return kept->killed(false);
        kept->killer_->execute(
            {"KILL QUERY " + std::to_string(id)},
            [weak](const server_failure& failed) {
                if (const auto still = weak.lock())
                    still->killed(!failed);
            }
        );
    });
}

void mysql_wire::killed(bool well) {
    if (const auto killer = std::exchange(killer_, nullptr))
        killer->close({});
    killing_ = false;
    if (!well)
        usable_ = false;  // the kill may be on its way still
    if (answered_)
        answer();
}

// Whatever is under way ends soon, for nobody; it keeps the wire until then.
void mysql_wire::close(const server_failure& why) {
    if (std::exchange(closed_, true))
        return;
    const auto kept = shared_from_this();
    const bool open = std::exchange(usable_, false);
    if (!last_words_)
        last_words_ = why;
    alarm_.cancel();
    if (const auto killer = std::exchange(killer_, nullptr))
        killer->close(why);
    const auto then = std::exchange(then_, nullptr);
    if (busy_)
        stop_.emit(asio::cancellation_type::terminal);
    else if (open)
        say_goodbye();
    if (then)
        then(why);
}

// Takes leave of the server, for nobody; a server that hears nothing logs an aborted connection.
void mysql_wire::say_goodbye() {
    constexpr milliseconds limit(1'000);
    on_->async_close(
        notes_,
        asio::cancel_after(
            limit, asio::bind_executor(strand_, [kept = shared_from_this()](const error_code&) {})
        )
    );
}

// What is under way is destroyed by the context, and with it the connection.
void mysql_wire::drop() noexcept {
    const bool leaving = std::exchange(closed_, true);
    usable_ = false;
    alarm_.cancel();
    const auto then = std::exchange(then_, nullptr);
    if (const auto killer = std::exchange(killer_, nullptr))
        killer->drop();
    if (!busy_ && !leaving && !process_.forked())
        on_.reset();
}

}  // namespace mortise::db::detail
