// SPDX-License-Identifier: BSL-1.0
#include "store/redis/shared_wire.hpp"

#include <algorithm>

namespace mortise::store_detail {
namespace {

// The prefix in a command that asks for changes of keys; empty if it is another command.
std::string prefix_to_track(const redis_command& command) {
    const bool tracks = command.size() > 5 && command[0] == "CLIENT" && command[1] == "TRACKING" &&
                        command[4] == "PREFIX";
    return tracks ? command[5] : std::string();
}

redis_value tracked_already() {
    redis_value value;
    value.type = redis_value::kind::text;
    value.text = "OK";
    return value;
}

}  // namespace

asio::awaitable<redis_failure> shared_wire::open(redis_wire_events& events) {
    const auto kept = shared_from_this();
    events_ = &events;
    const auto connection = list_->connection_to(strand_, node_);
    connection_ = connection;
    connection->join(*this);
    auto opening = connection->open();
    auto failure = co_await std::move(opening);
    if (closed_)
        co_return end_.value_or(redis_failure(errc::store_unavailable, "closed"));
    open_ = !failure.code;
    if (!open_)
        close();
    co_return failure;
}

asio::awaitable<redis_failure> shared_wire::subscribe(std::string channel) {
    const auto kept = shared_from_this();
    if (!open_)
        co_return lost_connection();
    connection_->add_channel(channel, *this);
    for (const char* const name : {"SSUBSCRIBE", "SUBSCRIBE"}) {
        redis_command command;
        command.push_back(name);
        command.push_back(channel);
        auto asking = exchange(std::move(command));
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return lost_connection();
        if (reply->type != redis_value::kind::error)
            co_return redis_failure();
        if (!reply->text.starts_with("ERR unknown command"))
            co_return redis_failure(meaning_of_refusal(reply->text), reply->text);
    }
    co_return redis_failure(errc::wrong_server, "it knows no channels");
}

asio::awaitable<result<redis_value>> shared_wire::call(redis_command command) {
    const auto kept = shared_from_this();
    const std::string prefix = prefix_to_track(command);
    if (!prefix.empty() && open_) {
        tracked_ = prefix;
        if (connection_->tracks(prefix))
            co_return tracked_already();
    }
    auto asking = exchange(std::move(command));
    co_return co_await std::move(asking);
}

asio::awaitable<result<redis_value>> shared_wire::exchange(redis_command command) {
    const auto kept = shared_from_this();
    if (!open_)
        co_return error_code(errc::store_unavailable);
    const std::string prefix = prefix_to_track(command);
    const auto connection = connection_;
    note_call(*connection);
    auto asking = connection->wire().call(std::move(command));
    auto reply = co_await std::move(asking);
    note_answer(*connection);
    if (!prefix.empty() && reply && reply->type != redis_value::kind::error)
        connection->note_tracked(prefix);
    if (closed_)
        co_return error_code(errc::outcome_unknown);
    co_return reply;
}

asio::awaitable<result<std::vector<redis_value>>>
shared_wire::pipeline(std::vector<redis_command> commands) {
    const auto kept = shared_from_this();
    if (!open_)
        co_return error_code(errc::store_unavailable);
    const auto connection = connection_;
    note_call(*connection);
    auto asking = connection->wire().pipeline(std::move(commands));
    auto replies = co_await std::move(asking);
    note_answer(*connection);
    if (closed_)
        co_return error_code(errc::outcome_unknown);
    co_return replies;
}

asio::awaitable<result<std::vector<redis_value>>> shared_wire::write_and_wait(
    redis_command write, unsigned replicas, std::chrono::milliseconds limit
) {
    const auto kept = shared_from_this();
    if (!open_)
        co_return error_code(errc::store_unavailable);
    const auto connection = connection_;
    asked_.push_back(clock::now());
    auto asking = connection->write_and_wait(std::move(write), replicas, limit, stop_.slot());
    auto replies = co_await std::move(asking);
    asked_.pop_front();
    if (closed_)
        co_return error_code(errc::outcome_unknown);
    co_return replies;
}

std::optional<clock::time_point> shared_wire::last_sign() const noexcept {
    return connection_ ? std::optional(connection_->last_sign()) : std::nullopt;
}

// Nothing means all keys: the database was flushed.
bool shared_wire::follows(const redis_value& keys) const {
    if (tracked_.empty())
        return false;
    return keys.type == redis_value::kind::null ||
           std::any_of(keys.items.begin(), keys.items.end(), [this](const redis_value& key) {
               return key.text.starts_with(tracked_);
           });
}

void shared_wire::ended(const redis_failure& why) noexcept {
    if (closed_)
        return;
    const auto kept = shared_from_this();
    const bool was_open = open_;
    auto* const events = events_;
    end_ = why;
    close();
    if (was_open)
        events->on_closed(why);
}

void shared_wire::close() noexcept {
    closed_ = true;
    open_ = false;
    events_ = nullptr;
    stop_.emit(asio::cancellation_type::terminal);
    if (const auto connection = std::exchange(connection_, nullptr))
        connection->leave(*this);
}

void shared_wire::note_call(node_connection& connection) noexcept {
    asked_.push_back(clock::now());
    connection.note_call();
}

// Answers come in the order of their calls.
void shared_wire::note_answer(node_connection& connection) noexcept {
    connection.note_answer();
    asked_.pop_front();
}

// A node that answers is slow, and not silent: others go on. Where nobody else is there, nobody is
// left to find out that it has become silent.
void shared_wire::abandon(clock::duration patience) noexcept {
    const auto connection = connection_;
    if (!connection)
        return close();
    const bool silent =
        !asked_.empty() &&
        clock::now() - std::max(asked_.front(), connection->last_answer()) >= patience / 2;
    close();
    if (silent || connection->unused())
        connection->end({errc::store_unavailable, "the node does not answer"});
}

}  // namespace mortise::store_detail
