// SPDX-License-Identifier: BSL-1.0
#include "mysql/mysql_call.hpp"

#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/coro/detail/with_code.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <string>
#include <utility>

namespace mortise::db::detail {

using coro::detail::with_code;

mysql_call::mysql_call(completion done, std::shared_ptr<mysql_wire> wire, bound_sql statement)
    : done_(std::move(done)),
      wire_(std::move(wire)),
      executor_(done_.get_executor()),
      statement_(std::move(statement)),
      fields_(to_fields(statement_.values)) {}

void mysql_call::start() {
    wire_->abandon_call = [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->abandon_.emit(asio::cancellation_type::terminal);
    };
    coro::detail::install_cancel_proxy<mysql_call>(
        done_.release_slot(), without_work(executor_), weak_from_this()
    );
    asio::co_spawn(
        executor_,
        run(shared_from_this()),
        asio::bind_cancellation_slot(abandon_.slot(), asio::detached)
    );
}

void mysql_call::on_cancel(asio::cancellation_type) {
    if (answered_ || std::exchange(cancelled_, true))
        return;
    killing_ = true;
    ++wire_->counts().cancelled;
    asio::co_spawn(executor_, end_statement(shared_from_this()), asio::detached);
}

asio::awaitable<void> mysql_call::run(std::shared_ptr<mysql_call>) {
    co_await asio::this_coro::throw_if_cancelled(false);
    try {
        failure_ = co_await perform();
        if (!failure_.code)
            result_ = to_query_result(found_);
    } catch (const error& refused) {
        failure_ = {refused.code(), refused.value() + ": " + refused.remedy(), false};
    }
    wire_->note(failure_);
    answered_ = true;
    impatience_.emit(asio::cancellation_type::total);
    ended();
}

asio::awaitable<mysql_failure> mysql_call::perform() {
    auto& on = wire_->connection();
    if (fields_.empty()) {
        const boost::mysql::string_view text = statement_.text;
        auto executing = on.async_execute(text, found_, notes_, with_code);
        const auto done = co_await std::move(executing);
        co_return mysql_failure_of(std::get<0>(done), notes_);
    }
    boost::mysql::statement prepared;
    auto preparing = prepare(prepared);
    if (auto failed = co_await std::move(preparing); failed.code)
        co_return failed;
    if (prepared.num_params() != fields_.size()) {
        co_return mysql_failure(
            errc::value_refused,
            "the statement has " + std::to_string(prepared.num_params()) + " parameters, and " +
                std::to_string(fields_.size()) + " values were given",
            false
        );
    }
    // A cancellation between the two may have come too late for the first.
    if (cancelled_)
        co_return mysql_failure(asio::error::operation_aborted, {}, false);
    const auto bound = prepared.bind(fields_.cbegin(), fields_.cend());
    auto executing = on.async_execute(bound, found_, notes_, with_code);
    const auto done = co_await std::move(executing);
    co_return mysql_failure_of(std::get<0>(done), notes_);
}

asio::awaitable<mysql_failure> mysql_call::prepare(boost::mysql::statement& prepared) {
    auto& on = wire_->connection();
    if (const auto* const kept = wire_->find(statement_.text)) {
        prepared = *kept;
        co_return mysql_failure();
    }
    if (const auto surplus = wire_->take_surplus()) {
        auto closing = on.async_close_statement(*surplus, notes_, with_code);
        const auto closed = co_await std::move(closing);
        if (auto failed = mysql_failure_of(std::get<0>(closed), notes_); failed.code)
            co_return failed;
    }
    auto preparing = on.async_prepare_statement(statement_.text, notes_, with_code);
    const auto answer = co_await std::move(preparing);
    const auto failed = mysql_failure_of(std::get<0>(answer), notes_);
    if (!failed.code) {
        prepared = std::get<1>(answer);
        wire_->keep(statement_.text, prepared);
    }
    co_return failed;
}

// Has the statement killed and waits for its end, for a limited time.
asio::awaitable<void> mysql_call::end_statement(std::shared_ptr<mysql_call>) {
    const auto limit = wire_->place()->config.cancel_max;
    auto killing = kill_query();
    const bool killed = co_await std::move(killing);
    if (killed && !answered_) {
        auto& time = wire_->place()->time();
        co_await time.async_wait_until(
            time.now() + limit, asio::bind_cancellation_slot(impatience_.slot(), with_code)
        );
    }
    killing_ = false;
    if (!answered_) {
        ++wire_->counts().abandoned;
        wire_->spoil();
        abandon_.emit(asio::cancellation_type::terminal);
        co_return;  // run() completes
    }
    if (!killed)
        wire_->spoil();  // the kill may be on its way still
    ended();
}

asio::awaitable<bool> mysql_call::kill_query() {
    const auto id = wire_->connection().connection_id();
    if (!id)
        co_return false;
    const auto limit =
        std::min(wire_->place()->config.cancel_max, wire_->place()->config.connect_max);
    mysql_wire killer(executor_, wire_->place(), std::make_shared<mysql_counts>());
    auto opening = killer.open(limit);
    const auto opened = co_await std::move(opening);
    if (opened.code)
        co_return false;
    std::vector<std::string> statements = {"KILL QUERY " + std::to_string(*id)};
    auto killing = killer.run(std::move(statements), limit);
    const auto killed = co_await std::move(killing);
    auto closing = killer.close();
    co_await std::move(closing);
    co_return !killed.code;
}

// Called at the end of the statement, and of the attempt to end it.
void mysql_call::ended() {
    if (!answered_ || killing_)
        return;
    if (cancelled_ && wire_->usable() && !is_interruption(failure_.code)) {
        asio::co_spawn(executor_, absorb_late_kill(shared_from_this()), asio::detached);
        return;
    }
    complete();
}

// A kill that comes after the statement hits the next one: this one.
asio::awaitable<void> mysql_call::absorb_late_kill(std::shared_ptr<mysql_call>) {
    std::vector<std::string> statements = {"DO 0"};
    const auto limit = wire_->place()->config.cancel_max;
    auto running = wire_->run(std::move(statements), limit);
    const auto failed = co_await std::move(running);
    if (failed.code && !is_interruption(failed.code))
        wire_->spoil();
    complete();
}

void mysql_call::complete() {
    auto done = std::move(done_);
    wire_->abandon_call = nullptr;
    const error_code& code = failure_.code;
    if (!code)
        return done.complete(nullptr, std::move(result_));
    const bool aborted = cancelled_ && (is_interruption(code) || !wire_->usable());
    auto failure = aborted
                       ? std::make_exception_ptr(
                             boost::system::system_error(error_code(asio::error::operation_aborted))
                         )
                       : std::make_exception_ptr(wire_->explain(failure_));
    done.complete(std::move(failure), query_result());
}

}  // namespace mortise::db::detail
