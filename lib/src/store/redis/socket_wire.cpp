// SPDX-License-Identifier: BSL-1.0
#include "store/redis/socket_wire.hpp"

#include "mortise/coro/detail/busy_poll.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/detail/secret.hpp"
#include "store/redis/resp.hpp"
#include "store/redis/socket_stream.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::store_detail {
namespace {

constexpr std::size_t empty_max = 64 * 1024;  // what an empty text keeps

void empty(std::string& text) {
    if (text.capacity() > empty_max)
        text = std::string();
    text.clear();
}

redis_failure no_connection() {
    return {errc::store_unavailable, "the connection was closed"};
}

/// Writes a command at once if it can, reads what comes, and resumes who waits for it in the
/// handler that has read it.
///
/// What is written while replies are being handed over goes out together, after the last of them:
/// many commands of one moment are one call to the kernel.
///
/// @par Lifetimes Whatever waits on a wire owns it, and the wire owns what waits: the end of the
/// context breaks that circle.
class socket_wire final : public redis_wire,
                          public coro::detail::shutdown_hook,
                          public std::enable_shared_from_this<socket_wire> {
public:
    socket_wire(const asio::any_io_executor& strand, wire_settings settings)
        : settings_(std::move(settings)),
          strand_(strand),
          stream_(strand, settings_),
          busy_poll_(strand, settings_.busy_poll_max),
          late_(strand) {}
    ~socket_wire() override { coro::detail::wait_service::unlink(*this); }

    asio::awaitable<redis_failure> open(redis_wire_events& events) override;
    asio::awaitable<redis_failure> subscribe(std::string channel) override;
    asio::awaitable<result<redis_value>> call(redis_command command) override;
    asio::awaitable<result<std::vector<redis_value>>> pipeline(std::vector<redis_command> commands
    ) override;
    void hold_back(bool held) noexcept override {
        held_back_ = held;
        write();
    }
    void close() noexcept override;

private:
    using values = std::vector<redis_value>;
    using completion = coro::detail::completion<void(error_code, redis_value)>;

    /// What is owed for one command.
    struct owed {
        std::string by_push;           ///< The command, if the server answers it by a push.
        std::shared_ptr<values> into;  ///< The replies to several commands are collected there.
        completion done;               ///< Of the last one of them, or of the only one.
    };

    asio::awaitable<redis_failure> greet();
    bool ask_login(redis_login& login) const noexcept;
    auto exchange(redis_command command) {
        return coro::detail::async_start<void(error_code, redis_value)>(
            strand_, coro::detail::with_code, &socket_wire::start, this, std::move(command)
        );
    }
    auto exchange_all(std::vector<redis_command> commands, std::shared_ptr<values> into) {
        return coro::detail::async_start<void(error_code, redis_value)>(
            strand_,
            coro::detail::with_code,
            &socket_wire::start_all,
            this,
            std::move(commands),
            std::move(into)
        );
    }
    static void start(completion done, socket_wire* self, redis_command command);
    static void start_all(
        completion done,
        socket_wire* self,
        std::vector<redis_command> commands,
        std::shared_ptr<values> into
    );

    void write();
    void written(const error_code& failed);
    void read();
    void have_read(const error_code& failed, std::size_t size);
    void hand_over();
    void take(resp_item item);
    void answer(redis_value value);
    void ended(redis_failure why);
    void fail_all() noexcept;
    void shut_down() noexcept override;

    const wire_settings settings_;
    const asio::any_io_executor strand_;
    socket_stream stream_;
    coro::detail::busy_poll busy_poll_;
    asio::steady_timer late_;  ///< Limits the time of the opening.
    redis_wire_events* events_ = nullptr;
    resp_reader reader_;
    std::string out_;      ///< To be written.
    std::string sending_;  ///< Under way.
    std::deque<owed> owed_;
    redis_failure failure_;  ///< Why the opening failed.
    bool is_late_ = false;   ///< The time of the opening is over.
    bool sends_ = false;
    bool hands_over_ = false;  ///< Replies are being handed over.
    bool held_back_ = false;   ///< Commands are collected.
    bool open_ = false;
    bool closed_ = false;
};

asio::awaitable<redis_failure> socket_wire::open(redis_wire_events& events) {
    const auto kept = shared_from_this();
    events_ = &events;
    auto& context = asio::query(strand_, asio::execution::context);
    if (!coro::detail::wait_service::of(context).link(kept))
        co_return no_connection();
    late_.expires_after(settings_.connect_max);
    late_.async_wait([weak = weak_from_this()](const error_code& stopped) {
        const auto self = weak.lock();
        if (!self || stopped || self->open_ || self->closed_)
            return;
        self->is_late_ = true;
        self->close();
    });
    auto connecting = stream_.connect();
    auto failure = co_await std::move(connecting);
    if (!failure.code && !closed_) {
        read();
        auto greeting = greet();
        failure = co_await std::move(greeting);
    }
    late_.cancel();
    if (is_late_)
        failure = {errc::store_unavailable, "it does not greet in time"};
    else if (closed_ && !failure.code)
        failure = {errc::store_unavailable, "closed"};  // Even if it has just greeted.
    open_ = !failure.code;
    if (!open_)
        close();
    co_return failure;
}

asio::awaitable<redis_failure> socket_wire::greet() {
    auto login = settings_.login;
    if (settings_.ask_login && !ask_login(login))
        co_return redis_failure(errc::bad_config, "the login is not told (ask_login)");
    const auto replies = std::make_shared<values>();
    auto greeting = exchange_all(greeting_of(settings_, login), replies);
    const auto greeted = co_await std::move(greeting);
    redis_failure failure;
    if (!replies->empty())
        failure = judge_greeting(*replies, settings_);
    if (std::get<0>(greeted) && !failure.code)
        failure = failure_.code ? failure_ : no_connection();
    failure.text = mortise::detail::without_secret(std::move(failure.text), login.password);
    co_return failure;
}

bool socket_wire::ask_login(redis_login& login) const noexcept {
    try {
        login = settings_.ask_login();
        return true;
    } catch (...) {  // It may not throw, and nobody knows what its text betrays.
        return false;
    }
}

asio::awaitable<redis_failure> socket_wire::subscribe(std::string channel) {
    const auto kept = shared_from_this();
    if (!open_ || closed_)
        co_return no_connection();
    redis_command command{"SUBSCRIBE", std::move(channel)};
    auto asking = exchange(std::move(command));
    const auto answered = co_await std::move(asking);
    if (std::get<0>(answered))
        co_return no_connection();
    const redis_value& reply = std::get<1>(answered);
    if (reply.type == redis_value::kind::error)
        co_return redis_failure(meaning_of_refusal(reply.text), reply.text);
    co_return redis_failure();
}

asio::awaitable<result<redis_value>> socket_wire::call(redis_command command) {
    const auto kept = shared_from_this();
    if (!open_ || closed_)
        co_return error_code(errc::store_unavailable);
    auto asking = exchange(std::move(command));
    auto answered = co_await std::move(asking);
    if (std::get<0>(answered))
        co_return error_code(errc::outcome_unknown);
    co_return std::move(std::get<1>(answered));
}

asio::awaitable<result<std::vector<redis_value>>>
socket_wire::pipeline(std::vector<redis_command> commands) {
    const auto kept = shared_from_this();
    if (!open_ || closed_)
        co_return error_code(errc::store_unavailable);
    const auto replies = std::make_shared<values>();
    if (commands.empty())
        co_return std::move(*replies);
    auto asking = exchange_all(std::move(commands), replies);
    const auto answered = co_await std::move(asking);
    if (std::get<0>(answered))
        co_return error_code(errc::outcome_unknown);
    co_return std::move(*replies);
}

void socket_wire::start(completion done, socket_wire* self, redis_command command) {
    put_command(self->out_, command);
    owed& mine = self->owed_.emplace_back();
    if (is_answered_by_push(command.front()))
        mine.by_push = std::move(command.front());
    mine.done = std::move(done);
    self->write();
}

void socket_wire::start_all(
    completion done,
    socket_wire* self,
    std::vector<redis_command> commands,
    std::shared_ptr<values> into
) {
    for (const auto& each : commands) {
        put_command(self->out_, each);
        self->owed_.emplace_back().into = into;
    }
    self->owed_.back().done = std::move(done);
    self->write();
}

void socket_wire::write() {
    if (sends_ || hands_over_ || held_back_ || closed_ || out_.empty())
        return;
    if (open_)
        busy_poll_.begin();
    const std::size_t size = stream_.write_now(out_);
    if (size == out_.size())
        return empty(out_);
    sending_.assign(out_, size, std::string::npos);
    empty(out_);
    sends_ = true;
    stream_.async_write(
        sending_,
        [kept = shared_from_this()](const error_code& failed, std::size_t) {
            kept->written(failed);
        }
    );
}

void socket_wire::written(const error_code& failed) {
    sends_ = false;
    if (closed_)
        return;
    if (failed)  // A part of a command may be out.
        return ended({errc::store_unavailable, "the connection: " + failed.message()});
    empty(sending_);
    write();
}

void socket_wire::read() {
    const auto room = reader_.room();
    stream_.async_read_some(
        asio::buffer(room.data(), room.size()),
        [kept = shared_from_this()](const error_code& failed, std::size_t size) {
            kept->have_read(failed, size);
        }
    );
}

void socket_wire::have_read(const error_code& failed, std::size_t size) {
    if (closed_)
        return;
    if (failed)
        return ended({errc::store_unavailable, "the connection: " + failed.message()});
    reader_.filled(size);
    hand_over();
    if (closed_)
        return;
    if (reader_.failed())
        return ended({errc::wrong_server, "it says what no Redis server says"});
    write();
    read();
}

void socket_wire::hand_over() {
    hands_over_ = true;
    while (!closed_) {
        auto item = reader_.next();
        if (!item)
            break;
        take(std::move(*item));
    }
    hands_over_ = false;
}

// A subscription that is refused is answered by an error, which is no push.
void socket_wire::take(resp_item item) {
    const bool confirms = item.pushed && !owed_.empty() && !owed_.front().by_push.empty() &&
                          answers_command(item.value, owed_.front().by_push);
    if (!item.pushed || confirms)
        return answer(std::move(item.value));
    busy_poll_.rest();
    if (open_)
        events_->on_push(std::move(item.value));
}

void socket_wire::answer(redis_value value) {
    if (owed_.empty())
        return ended({errc::wrong_server, "it answers what nobody has asked"});
    owed mine = std::move(owed_.front());
    owed_.pop_front();
    if (owed_.empty())
        busy_poll_.end();
    if (mine.into)
        mine.into->push_back(std::move(value));
    if (mine.done)
        mine.done.complete_here(error_code(), std::move(value));
}

// The connection has ended, or is of no use any more.
void socket_wire::ended(redis_failure why) {
    const bool was_open = std::exchange(open_, false);
    closed_ = true;
    stream_.close();
    fail_all();
    if (!was_open) {
        failure_ = std::move(why);
        return;
    }
    // Behind those who wait.
    asio::post(strand_, [weak = weak_from_this(), why = std::move(why)] {
        const auto self = weak.lock();
        if (auto* const events = self ? std::exchange(self->events_, nullptr) : nullptr)
            events->on_closed(why);
    });
}

void socket_wire::fail_all() noexcept {
    busy_poll_.end();
    for (auto& each : std::exchange(owed_, {})) {
        if (each.done)
            each.done.complete(asio::error::operation_aborted, redis_value());
    }
}

void socket_wire::close() noexcept {
    closed_ = true;
    open_ = false;
    events_ = nullptr;
    late_.cancel();
    stream_.close();
    fail_all();
}

// The context ends: it runs nothing any more, and destroys what waits.
void socket_wire::shut_down() noexcept {
    closed_ = true;
    open_ = false;
    events_ = nullptr;
    const auto gone = std::exchange(owed_, {});
}

}  // namespace

std::shared_ptr<redis_wire>
make_socket_wire(const asio::any_io_executor& strand, wire_settings settings) {
    return std::make_shared<socket_wire>(strand, std::move(settings));
}

}  // namespace mortise::store_detail
