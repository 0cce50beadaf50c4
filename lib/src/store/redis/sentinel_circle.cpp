// SPDX-License-Identifier: BSL-1.0
#include "store/redis/sentinel_circle.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "store/redis/forwarding_wire.hpp"
#include "store/redis/socket_wire.hpp"
#include "store/redis/words.hpp"

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace mortise::store_detail {
namespace {

using namespace std::chrono_literals;

constexpr auto others_may_take = 300ms;  // after the first answer
constexpr auto pause_min = 1'000ms;
constexpr auto pause_max = 30'000ms;

named_primary nobody_knows(errc code, std::string text) {
    named_primary none;
    none.failure = {code, std::move(text)};
    return none;
}

named_primary
place_in(const result<redis_value>& reply, const std::string& name, const std::string& wanted) {
    if (!reply)
        return nobody_knows(errc::store_unavailable, name + "it does not answer");
    if (reply->type == redis_value::kind::error)
        return nobody_knows(meaning_of_refusal(reply->text), name + reply->text);
    if (reply->items.size() != 2)
        return nobody_knows(errc::bad_config, name + "it knows no primary named " + wanted);
    named_primary found;
    words port(reply->items[1].text);
    found.host = reply->items[0].text;
    found.port = port.number<std::uint16_t>();
    if (port.failed() || found.host.empty())
        return nobody_knows(errc::wrong_server, name + "it names no address");
    return found;
}

class sentinel_wire final : public forwarding_wire {
public:
    sentinel_wire(const asio::any_io_executor& strand, sentinel_settings settings)
        : strand_(strand), settings_(std::move(settings)) {}

    asio::awaitable<redis_failure> open(redis_wire_events& events) override;
    void close() noexcept override;

private:
    void leave_old_primary() {
        on_closed({errc::store_unavailable, "the sentinels name another primary"});
    }

    const asio::any_io_executor strand_;
    const sentinel_settings settings_;
    std::shared_ptr<sentinel_circle> circle_;
};

asio::awaitable<redis_failure> sentinel_wire::open(redis_wire_events& events) {
    const auto kept = shared_from_this();
    events_ = &events;
    const auto circle = std::make_shared<sentinel_circle>(
        strand_, settings_.sentinels, settings_.primary_name, events.listens()
    );
    circle_ = circle;
    auto finding = circle->find();
    auto found = co_await std::move(finding);
    if (closed_)
        co_return redis_failure(errc::store_unavailable, "closed");
    const auto& remembered = settings_.remembered;
    if (!found.failure.code) {
        *remembered = found;
    } else if (found.failure.code == errc::store_unavailable && !remembered->host.empty()) {
        found = *remembered;
    } else {
        circle->close();
        co_return found.failure;
    }
    auto server = settings_.server;
    server.host = found.host;
    server.port = found.port;
    const auto wire = make_socket_wire(strand_, std::move(server));
    wire_ = wire;
    auto opening = wire->open(*this);
    auto failure = co_await std::move(opening);
    if (failure.code || closed_ || !events.listens()) {
        circle->close();
    } else {
        circle->watch(found, [weak = weak_from_this()] {
            if (const auto self = std::static_pointer_cast<sentinel_wire>(weak.lock()))
                self->leave_old_primary();
        });
    }
    co_return failure;
}

void sentinel_wire::close() noexcept {
    closed_ = true;
    if (circle_)
        circle_->close();
    if (wire_)
        wire_->close();
}

}  // namespace

/// One sentinel, and the connection to it.
class sentinel_circle::seat final : public redis_wire_events {
public:
    seat(sentinel_circle& circle, wire_settings settings)
        : limit(circle.strand_), circle_(circle), settings_(std::move(settings)) {}

    std::string name() const {
        return "sentinel " + settings_.host + ':' + std::to_string(settings_.port) + ": ";
    }

    std::shared_ptr<redis_wire> wire;  ///< Null if it cannot be reached, or was not asked yet.
    std::optional<named_primary> answer;
    bool asked = false;        ///< A question is under way.
    asio::steady_timer limit;  ///< The limit of that question, once the connection is open.

    void begin() { wire = make_socket_wire(circle_.strand_, settings_); }

    void leave() noexcept {
        limit.cancel();
        if (const auto gone = std::exchange(wire, nullptr))
            gone->close();
    }

    void on_push(redis_value push) noexcept override {
        if (push.items.size() == 3 && push.items[0].text == "message")
            circle_.look_again();
    }

    void on_closed(redis_failure) noexcept override {
        wire = nullptr;
        circle_.look_later();
    }

private:
    sentinel_circle& circle_;
    const wire_settings settings_;
};

sentinel_circle::sentinel_circle(
    const asio::any_io_executor& strand,
    const std::vector<wire_settings>& sentinels,
    std::string primary_name,
    bool listens,
    sentinel_patience patience
)
    : strand_(strand),
      primary_name_(std::move(primary_name)),
      listens_(listens),
      patience_(patience),
      news_(strand),
      retry_(strand),
      pause_(pause_min) {
    for (const auto& each : sentinels)
        seats_.push_back(std::make_shared<seat>(*this, each));
}

sentinel_circle::~sentinel_circle() {
    close();
}

void sentinel_circle::close() noexcept {
    closed_ = true;
    moved_ = nullptr;
    news_.close();
    retry_.cancel();
    for (const auto& each : seats_)
        each->leave();
}

asio::awaitable<named_primary> sentinel_circle::find() {
    const auto kept = shared_from_this();
    for (const auto& each : seats_) {
        each->answer.reset();
        if (!std::exchange(each->asked, true))
            asio::co_spawn(strand_, ask(kept, each), asio::detached);
    }
    bool late = false;
    for (;;) {
        auto found = verdict(late);
        if (closed_ || found.failure.code || !found.host.empty())
            co_return found;
        const bool heard = std::any_of(seats_.begin(), seats_.end(), [](const auto& each) {
            return each->answer && !each->answer->failure.code;
        });
        news_.reset();
        auto waiting = news_.async_wait(asio::cancel_after(
            heard ? std::chrono::milliseconds(others_may_take) : std::chrono::hours(24),
            coro::detail::with_code
        ));
        const auto [stopped] = co_await std::move(waiting);
        late = heard && stopped;
    }
}

named_primary sentinel_circle::verdict(bool late) const {
    if (closed_)
        return nobody_knows(errc::store_unavailable, "closed");
    std::size_t silent = 0;
    std::size_t most = 0;
    const named_primary* best = nullptr;
    const named_primary* failed = nullptr;
    for (const auto& each : seats_) {
        if (!each->answer) {
            ++silent;
            continue;
        }
        if (each->answer->failure.code) {
            failed = &*each->answer;
            continue;
        }
        const auto votes = static_cast<std::size_t>(std::count_if(
            seats_.begin(),
            seats_.end(),
            [&](const auto& other) {
                return other->answer && !other->answer->failure.code &&
                       other->answer->same_place(*each->answer);
            }
        ));
        if (votes > most) {
            most = votes;
            best = &*each->answer;
        }
    }
    const bool by_most = 2 * most > seats_.size();
    if (best != nullptr && (late || silent == 0 || by_most)) {
        auto found = *best;
        found.by_most = by_most;
        return found;
    }
    if (silent != 0)
        return {};
    return failed != nullptr ? *failed
                             : nobody_knows(errc::store_unavailable, "no sentinel is named");
}

// Subscribes before it asks, so that no change slips between the two.
asio::awaitable<void> sentinel_circle::ask(
    [[maybe_unused]] std::shared_ptr<sentinel_circle> self, std::shared_ptr<seat> sentinel
) {
    redis_failure failure;
    const bool was_open = sentinel->wire != nullptr;
    if (!was_open) {
        sentinel->begin();
        const auto fresh = sentinel->wire;
        auto opening = fresh->open(*sentinel);
        failure = co_await std::move(opening);
    }
    const auto wire = sentinel->wire;
    if (wire && !failure.code) {
        sentinel->limit.expires_after(patience_.answer_max);
        sentinel->limit.async_wait([sentinel](const boost::system::error_code& stopped) {
            if (!stopped && sentinel->asked)
                sentinel->leave();
        });
        if (!was_open && listens_) {
            auto subscribing = wire->subscribe("+switch-master");
            co_await std::move(subscribing);  // A sentinel that refuses is still asked.
        }
        auto asking = wire->call({"SENTINEL", "get-master-addr-by-name", primary_name_});
        const auto reply = co_await std::move(asking);
        sentinel->limit.cancel();
        sentinel->answer = place_in(reply, sentinel->name(), primary_name_);
    } else {
        sentinel->leave();
        sentinel->answer = nobody_knows(
            failure.code ? static_cast<errc>(failure.code.value()) : errc::store_unavailable,
            sentinel->name() + failure.text
        );
    }
    if (!listens_ || closed_)
        sentinel->leave();
    sentinel->asked = false;
    if (!closed_)
        news_.set();
}

void sentinel_circle::watch(named_primary here, std::function<void()> moved) {
    here_ = std::move(here);
    moved_ = std::move(moved);
    look_later();
}

void sentinel_circle::look_again() {
    if (closed_ || !moved_)
        return;
    if (std::exchange(checking_, true)) {
        check_again_ = true;
        return;
    }
    asio::co_spawn(strand_, check(shared_from_this()), asio::detached);
}

asio::awaitable<void> sentinel_circle::check([[maybe_unused]] std::shared_ptr<sentinel_circle> self
) {
    do {
        check_again_ = false;
        auto finding = find();
        const auto found = co_await std::move(finding);
        if (closed_)
            co_return;
        // A few sentinels may be cut off, together with the primary before, which they still name.
        if (!found.failure.code && found.by_most && !found.same_place(here_)) {
            const auto tell = std::exchange(moved_, nullptr);
            checking_ = false;
            tell();
            co_return;
        }
    } while (check_again_);
    checking_ = false;
    look_later();
}

// Sets the time of the next question: soon while a sentinel cannot be reached, since it may have
// news; later if all are connected, since a quiet connection may be dead.
void sentinel_circle::look_later() {
    const bool complete =
        std::all_of(seats_.begin(), seats_.end(), [](const auto& each) { return each->wire; });
    if (complete)
        pause_ = pause_min;
    if (closed_ || !moved_ || checking_)
        return;
    retry_.expires_after(complete ? patience_.quiet_max : pause_);
    if (!complete)
        pause_ = std::min<std::chrono::milliseconds>(2 * pause_, pause_max);
    retry_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
        const auto self = weak.lock();
        if (!stopped && self)
            self->look_again();
    });
}

std::shared_ptr<redis_wire>
make_sentinel_wire(const boost::asio::any_io_executor& strand, sentinel_settings settings) {
    return std::make_shared<sentinel_wire>(strand, std::move(settings));
}

}  // namespace mortise::store_detail
