// SPDX-License-Identifier: BSL-1.0
// How a session begins: the servers, the store in them, and the node of the session.
#include "mortise/coro/detail/with_code.hpp"
#include "store/hex_id.hpp"
#include "store/store_domain.hpp"
#include "store/zookeeper/zookeeper_link.hpp"
#include "zookeeper/zk_error.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

namespace mortise::store_detail {

using zookeeper_detail::zk_code;

namespace {

/// The first line of the store's node. Another form of locks is another format.
constexpr const char* format_of(zookeeper_form form) noexcept {
    return form == zookeeper_form::queue ? "mortise 1" : "mortise 1 single_node";
}

// Whoever looks at the store without a session of a client.
constexpr std::chrono::milliseconds ttl_of_visitors(6'000);

/// A text of several lines: the values may have any bytes but the end of a line.
std::string line(std::string text) {
    constexpr std::size_t line_max = 1'024;
    text.resize(std::min(text.size(), line_max));
    for (auto& c : text)
        c = c == '\n' ? ' ' : c;
    return text + '\n';
}

}  // namespace

// The C client would look names up in the middle of the event loop. Look-ups go one after the
// other, and one that has begun holds the others up: so the first name that is found may take most
// of the time, what comes after it a share of the rest, and each opening begins with another name.
asio::awaitable<result<std::string>> zookeeper_link::addresses(clock::time_point until) {
    std::vector<std::string> places;
    std::string why;
    const auto closings = closings_;
    const std::size_t count = config_.servers.size();
    const std::size_t first = openings_++ % count;
    for (std::size_t i = 0; i < count && closings == closings_; ++i) {
        const auto& each = config_.servers[(first + i) % count];
        const auto left = std::max(until - now(), clock::duration::zero());
        const auto share = places.empty() ? left : left / static_cast<clock::rep>(count - i);
        looking_ = std::make_shared<detail::name_lookup>(strand());
        auto looking = looking_->find(each.host, share);
        const auto found = co_await std::move(looking);
        if (!found) {
            why = each.host + ": " + found.error().message();
            continue;
        }
        for (const auto& address : *found) {
            const auto text = address.to_string();
            places.push_back(
                (address.is_v6() ? '[' + text + ']' : text) + ':' + std::to_string(each.port)
            );
        }
    }
    if (places.empty())
        co_return remember(errc::store_unavailable, why);
    // The C client goes two places further in its list after a failure: of an even number it would
    // try every other one, and of two the same one again and again.
    if (places.size() % 2 == 0)
        places.push_back(places.front());
    std::string all;
    for (const auto& each : places)
        all += (all.empty() ? "" : ",") + each;
    co_return all;
}

asio::awaitable<error_code> zookeeper_link::open_connection() {
    const auto kept = std::static_pointer_cast<zookeeper_link>(shared_from_this());
    const std::weak_ptr weak(kept);
    decided_.emplace(strand());
    const auto closings = closings_;
    const auto end = now() + config_.connect_max;
    auto resolving = addresses(end - config_.connect_max / 4);  // Some is left to connect.
    const auto servers = co_await std::move(resolving);
    if (!servers)
        co_return servers.error();
    if (closings != closings_)
        co_return errc::store_unavailable;  // Nobody would close what is opened now.
    zk_session::config how;
    how.servers = *servers;
    const auto ttl = session().ttl.count() != 0 ? session().ttl : ttl_of_visitors;
    how.timeout = timeout_for(ttl, config_.tick);  // docs/adr/0039
    if (!config_.user.empty())
        how.login = config_.user + ':' + config_.password;
    const auto mine = std::make_shared<std::weak_ptr<zk_session>>();
    zk_session::listener to;
    to.changed = [weak, mine](zk_state now) {
        const auto self = weak.lock();
        if (self && self->handle_ == mine->lock())
            self->changed(now);
    };
    to.seen = [weak, mine](const zk_event& event) {
        const auto self = weak.lock();
        if (self && self->handle_ == mine->lock() && self->to_.seen)
            self->to_.seen(event);
    };
    to.remembered = [weak](std::string text) {
        if (const auto self = weak.lock())
            self->remember({}, std::move(text));
    };
    answers_.set_ttl(ttl);
    handle_ = servers_.make_session(strand(), time(), std::move(how), std::move(to));
    *mine = handle_;
    if (const error_code failed = handle_->open())
        co_return failed;
    open_alarm_.set(*time(), strand(), end, [weak] {
        if (const auto self = weak.lock())
            self->decided_->set();
    });
    const auto opened = handle_;
    auto waiting = decided_->async_wait(coro::detail::with_code);
    co_await std::move(waiting);
    open_alarm_.cancel();
    if (handle_ != opened)
        co_return errc::store_unavailable;
    if (opened->state() == zk_state::refused)
        co_return remember(errc::access_denied, "the servers refuse this user");
    if (opened->state() != zk_state::connected)
        co_return errc::store_unavailable;  // The client has said why.
    co_return error_code();
}

asio::awaitable<error_code> zookeeper_link::visit() {
    const auto kept = shared_from_this();
    auto opening = open_connection();
    if (const error_code failed = co_await std::move(opening))
        co_return failed;
    usable_ = true;
    auto reading = read_store();
    const error_code failed = co_await std::move(reading);
    co_return failed == zk_code::no_node ? error_code() : failed;
}

asio::awaitable<result<resumed>> zookeeper_link::prove() {
    const auto by = handle_;
    if (!by)
        co_return error_code(errc::store_unavailable);
    const auto since = by->connecting_since();
    timeout_ = by->timeout();
    proof_ = session_proof(config_.tick);
    proof_.connected(since);
    usable_ = true;
    if (timeout_ < session().ttl)
        co_return remember(
            errc::ttl_too_long,
            "the servers keep a session for " + std::to_string(timeout_.count()) +
                " ms at most: raise maxSessionTimeout"
        );
    auto reading = find_or_make_store();
    if (const error_code failed = co_await std::move(reading))
        co_return failed;
    const auto creation = create(session_path(), session_text(), kind::ephemeral);
    auto taking = creation->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed)
        co_return meaning_of(answer.failed);
    constexpr int epoch_bits = 32;
    constexpr std::uint64_t epoch_end = 1U << 21U;
    if (answer.stat.created >> epoch_bits >= epoch_end)
        co_return remember(
            errc::unsupported, "the ensemble has changed its leader too often: tokens have an end"
        );
    beaten_at_ = answer.stat.created_at;
    beaten_here_ = now();
    resumed reply;
    reply.sent = since;
    reply.incarnation = store_;
    reply.domain = domain_;
    expect_beat(since, since);
    co_return reply;
}

std::string zookeeper_link::session_text() const {
    const auto& own = session();
    return line(std::to_string(own.ttl.count())) + line(std::to_string(own.pid)) + line(own.host) +
           line(own.label);
}

asio::awaitable<error_code> zookeeper_link::find_or_make_store() {
    auto reading = read_store();
    const error_code failed = co_await std::move(reading);
    if (failed != zk_code::no_node)
        co_return failed;
    auto making = make_root();
    if (const error_code unmade = co_await std::move(making))
        co_return unmade;
    auto reading_again = read_store();
    const error_code missing = co_await std::move(reading_again);
    co_return meaning_of(missing);
}

asio::awaitable<error_code> zookeeper_link::read_store() {
    const auto path = config_.root + "/store";
    const auto asked = get(path);
    auto taking = asked->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed == zk_code::no_node)
        co_return answer.failed;
    if (answer.failed)
        co_return meaning_of(answer.failed);
    std::istringstream lines(answer.data);
    std::string first;
    std::string id;
    std::string domain;
    std::getline(lines, first);
    std::getline(lines, id);
    std::getline(lines, domain);
    const auto parsed = parse_hex_id(id);
    const auto known = parse_store_domain(domain);
    const std::string format = format_of(config_.form);
    for (const auto other : {zookeeper_form::queue, zookeeper_form::single_node}) {
        if (first != format && first == format_of(other))
            co_return remember(
                errc::bad_config,
                path + " is of the other form of locks: choose another root, or form=" +
                    (other == zookeeper_form::queue ? "queue" : "single_node")
            );
    }
    if (first != format && first.starts_with("mortise"))
        co_return remember(errc::newer_format, "its nodes are of a newer mortise");
    if (first != format || !parsed || !known)
        co_return remember(errc::not_a_store, path + " is not of mortise");
    if (!config_.domain.empty() && domain != config_.domain)
        co_return remember(errc::bad_config, "the store has the domain " + domain);
    store_ = *parsed;
    domain_ = *known;
    co_return error_code();
}

// Others may make the same nodes at the same time.
asio::awaitable<error_code> zookeeper_link::make_root() {
    const auto id = random_id::draw();
    const auto domain = config_.domain.empty() ? "zk:" + id.text().substr(0, 16) : config_.domain;
    std::vector<zk_reply_ptr> replies;
    for (auto end = config_.root.find('/', 1);; end = config_.root.find('/', end + 1)) {
        replies.push_back(create(config_.root.substr(0, end), "", kind::persistent));
        if (end == std::string::npos)
            break;
    }
    for (const auto& each : {locks_path(), sessions_path(), breaks_path()})
        replies.push_back(create(each, "", kind::persistent));
    replies.push_back(create(
        config_.root + "/store",
        line(format_of(config_.form)) + line(id.text()) + line(domain),
        kind::persistent
    ));
    error_code failed;
    for (const auto& each : replies) {
        auto taking = each->take();
        const auto answer = co_await std::move(taking);
        if (answer.failed && answer.failed != zk_code::node_exists && !failed)
            failed = meaning_of(answer.failed);
    }
    co_return failed;
}

}  // namespace mortise::store_detail
