// SPDX-License-Identifier: BSL-1.0
#include "store/mysql/store_connection.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/db/mysql_error.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/mysql/field_view.hpp>
#include <boost/mysql/metadata_mode.hpp>
#include <boost/mysql/results.hpp>
#include <boost/mysql/resultset_view.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace mortise::store_detail {
namespace {

using boost::mysql::field_kind;
using boost::mysql::field_view;
using coro::detail::with_code;
using db::detail::mysql_failure;

// `time_zone`: with another one the clock jumps when summer begins. The limits of waiting: a row is
// locked for as long as a message takes at the server, so who waits for longer waits in vain.
// `wait_timeout`: a session's connection is quiet between heartbeats.
constexpr const char* settings =
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    "SET SESSION autocommit=1,time_zone='+00:00',sql_mode='STRICT_ALL_TABLES',"
    "innodb_lock_wait_timeout=2,lock_wait_timeout=2,wait_timeout=86400,sql_safe_updates=0,@after='"
    "'";

field_view field_of(const db::column_value& value) {
    if (const auto* const integer = std::get_if<std::int64_t>(&value))
        return field_view(*integer);
    if (const auto* const bytes = std::get_if<db::blob>(&value)) {
        const auto* const data = reinterpret_cast<const unsigned char*>(bytes->bytes.data());
        return field_view(boost::mysql::blob_view(data, bytes->bytes.size()));
    }
    return {};
}

db::column_value value_of(const field_view& field) {
    switch (field.kind()) {
    case field_kind::int64:
        return field.get_int64();
    case field_kind::uint64:
        return static_cast<std::int64_t>(field.get_uint64());
    case field_kind::string:
        return std::string(field.get_string());
    case field_kind::blob: {
        const auto bytes = field.get_blob();
        return db::blob(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    default:
        return {};  // No statement of ours has other columns.
    }
}

db::query_result result_of(const boost::mysql::resultset_view& found) {
    db::query_result read;
    read.affected = static_cast<std::int64_t>(found.affected_rows());
    const auto columns = found.meta();
    // A lock that was taken, with its base (`take_again`).
    if (columns.empty() && read.affected == 1 && found.last_insert_id() != 0) {
        static const auto names = std::make_shared<const std::vector<std::string>>(
            std::vector<std::string>{"granted", "base", "ordinal", "queue", "tells"}
        );
        const auto base = static_cast<std::int64_t>(found.last_insert_id());
        read.rows.emplace_back(names, std::vector<db::column_value>{1, base, 0, 0, 0});
    }
    if (columns.empty())
        return read;
    std::vector<std::string> names;
    for (const auto& each : columns)
        names.emplace_back(each.column_name());
    const auto shared = std::make_shared<const std::vector<std::string>>(std::move(names));
    for (const auto& each : found.rows()) {
        std::vector<db::column_value> values;
        values.reserve(each.size());
        for (const auto& field : each)
            values.push_back(value_of(field));
        read.rows.emplace_back(shared, std::move(values));
    }
    read.affected = static_cast<std::int64_t>(read.rows.size());
    return read;
}

// Nobody is left to be killed by a KILL, or nobody of ours.
bool is_late_kill(const mysql_failure& failed) {
    constexpr int unknown_thread = 1094;
    constexpr int foreign_thread = 1095;
    return failed.code == db::mysql_error(unknown_thread) ||
           failed.code == db::mysql_error(foreign_thread);
}

part_answer answer_of(const boost::mysql::stage_response& response, bool prepared) {
    part_answer answer;
    if (response.error()) {
        auto failed = db::detail::mysql_failure_of(response.error(), response.diag());
        if (!is_late_kill(failed))
            answer.failed = std::move(failed);
        return answer;
    }
    for (const auto& each : response.as_results()) {
        if (prepared || !each.meta().empty())
            answer.results.push_back(result_of(each));
    }
    return answer;
}

}  // namespace

store_connection::store_connection(const asio::any_io_executor& strand, place_ptr place)
    : strand_(strand), place_(std::move(place)), lane_(strand) {}

asio::awaitable<mysql_failure> store_connection::open() {
    const auto kept = shared_from_this();
    connection_.emplace(strand_, place_->connection_settings());
    connection_->set_meta_mode(boost::mysql::metadata_mode::full);  // rows have names
    auto login = place_->login();
    login.multi_queries = true;
    busy_ = true;
    auto connecting = asio::co_spawn(
        strand_,
        db::detail::connect(*connection_, *place_, std::move(login), place_->config.connect_max),
        asio::bind_cancellation_slot(ending_.slot(), with_code)
    );
    auto connected = co_await std::move(connecting);
    busy_ = false;
    if (std::get<0>(connected) || closed_) {
        drop();
        co_return mysql_failure(errc::store_unavailable, "the connection was closed", true);
    }
    mysql_failure failed = std::move(std::get<1>(connected));
    if (failed.code) {
        drop();
        co_return failed;
    }
    open_ = true;
    number_ = connection_->connection_id().value_or(0);
    mysql_parts parts;
    parts.emplace_back(settings);
    std::vector<part_answer> answers;
    auto setting = run(std::move(parts), answers);
    failed = co_await std::move(setting);
    if (!failed.code)
        failed = answers.front().failed;
    if (failed.code)
        close();
    co_return failed;
}

asio::awaitable<mysql_failure>
store_connection::run(mysql_parts parts, std::vector<part_answer>& answers) {
    const auto kept = shared_from_this();
    auto locking = lane_.async_lock(with_code);
    const auto turn = co_await std::move(locking);
    if (!open_)
        co_return mysql_failure(errc::store_unavailable, "the connection was closed", true);
    auto preparing = prepare(parts);
    if (const auto failed = co_await std::move(preparing); failed.code)
        co_return failed;
    boost::mysql::pipeline_request request;
    const bool cleans = std::exchange(dirty_, false);
    if (cleans)
        request.add_execute("ROLLBACK");
    for (const auto& each : parts) {
        if (each.values.empty()) {
            request.add_execute(each.text);
            continue;
        }
        std::vector<field_view> fields;
        for (const auto& value : each.values)
            fields.push_back(field_of(value));
        request.add_execute_range(prepared_.at(each.text), fields);
    }
    std::vector<boost::mysql::stage_response> responses;
    auto exchanging = exchange(request, responses);
    if (const auto failed = co_await std::move(exchanging); failed.code)
        co_return failed;
    answers.clear();
    for (std::size_t i = cleans ? 1 : 0; i < responses.size(); ++i) {
        const auto& part = parts[answers.size()];
        answers.push_back(answer_of(responses[i], !part.values.empty()));
        const bool begins = part.text.find("BEGIN;") != std::string::npos;
        dirty_ = dirty_ || (begins && answers.back().failed.code);
    }
    co_return mysql_failure();
}

// Prepares statements that this connection has not seen yet.
asio::awaitable<mysql_failure> store_connection::prepare(const mysql_parts& parts) {
    boost::mysql::pipeline_request request;
    std::vector<std::string> added;
    for (const auto& each : parts) {
        if (each.values.empty() || prepared_.contains(each.text))
            continue;
        request.add_prepare_statement(each.text);
        added.push_back(each.text);
    }
    if (added.empty())
        co_return mysql_failure();
    std::vector<boost::mysql::stage_response> responses;
    auto exchanging = exchange(request, responses);
    if (auto failed = co_await std::move(exchanging); failed.code)
        co_return failed;
    for (std::size_t i = 0; i < added.size(); ++i) {
        if (responses[i].error())
            co_return db::detail::mysql_failure_of(responses[i].error(), responses[i].diag());
        prepared_.emplace(std::move(added[i]), responses[i].as_statement());
    }
    co_return mysql_failure();
}

// Fails only if the connection has ended: each stage has its own error.
asio::awaitable<mysql_failure> store_connection::exchange(
    const boost::mysql::pipeline_request& request,
    std::vector<boost::mysql::stage_response>& responses
) {
    busy_ = true;
    auto running = connection_->async_run_pipeline(
        request, responses, notes_, asio::bind_cancellation_slot(ending_.slot(), with_code)
    );
    const auto done = co_await std::move(running);
    busy_ = false;
    auto failed = db::detail::mysql_failure_of(std::get<0>(done), notes_);
    const bool ended =
        closed_ || failed.ends_connection ||
        std::any_of(responses.begin(), responses.end(), [](const auto& each) {
            return each.error() &&
                   db::detail::mysql_failure_of(each.error(), each.diag()).ends_connection;
        });
    if (!ended)
        co_return mysql_failure();
    if (closed_ || !failed.code)
        failed = {errc::outcome_unknown, "the connection was closed", true};
    failed.code = errc::outcome_unknown;
    drop();
    co_return failed;
}

void store_connection::drop() noexcept {
    open_ = false;
    closed_ = true;
    prepared_.clear();
    connection_.reset();
}

void store_connection::close() noexcept {
    open_ = false;
    closed_ = true;
    if (busy_)
        ending_.emit(asio::cancellation_type::terminal);
    else
        drop();
}

}  // namespace mortise::store_detail
