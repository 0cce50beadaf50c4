// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_stores.hpp"
#include "store/redis/single_key_link.hpp"
#include "store/redis/single_key_values.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {
namespace {

// A pattern that matches exactly the texts that begin with `prefix`.
std::string pattern_of(const std::string& prefix) {
    std::string pattern;
    for (const char c : prefix) {
        if (std::string_view("*?[]^-").find(c) != std::string_view::npos)
            pattern += '\\';
        pattern += c;
    }
    return pattern + '*';
}

class single_key_store final : public store {
public:
    single_key_store(std::shared_ptr<single_key_link> link, redis_examination known)
        : link_(std::move(link)), examined_(std::move(known)) {}
    ~single_key_store() override { link_->detach(); }

    store_traits traits() const noexcept override {
        store_traits traits;
        traits.remote = true;
        traits.quarantine = false;
        traits.scheme = "redis";
        traits.strength = link_->tokens().empty() ? token_strength::absent : link_->strength();
        traits.server_clock = true;
        traits.sessions = traits.records = false;
        traits.ttl_min = std::chrono::milliseconds(100);
        traits.ttl_max = std::chrono::hours(24);
        return traits;
    }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        link_->attach(std::move(strand), events, std::move(time));
    }

    void detach() noexcept override { link_->detach(); }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        return link_->resume(std::move(start));
    }
    asio::awaitable<error_code> end() override { return link_->end(); }
    asio::awaitable<result<answer>> request(lock_request request) override {
        return link_->request(std::move(request));
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        return link_->withdraw(std::move(name), id);
    }
    asio::awaitable<result<bool>> release(grant held) override {
        return link_->release(std::move(held));
    }
    asio::awaitable<result<heartbeat>> beat(proof_number) override { return link_->beat(); }
    asio::awaitable<result<session_view>> look(proof_number) override { co_return link_->view(); }
    asio::awaitable<result<token_range>> draw(grant held) override {
        return link_->draw(std::move(held));
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override;
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override;
    asio::awaitable<result<bool>> break_(break_order order) override;

    asio::awaitable<result<std::vector<break_record>>> breaks(std::string, std::size_t) override {
        co_return link_->cannot("it keeps no records of what was broken");
    }
    asio::awaitable<error_code> watch() override {
        co_return link_->cannot("nobody tells it of changes");
    }

    asio::awaitable<result<std::vector<store_finding>>> examine() override;
    std::string explain() const override { return link_->explain(); }

private:
    asio::awaitable<result<std::set<std::string>>> names();
    asio::awaitable<result<std::vector<lock_view>>> views(std::vector<std::string> names);
    lock_view view_of(std::string name, const redis_value& value, std::int64_t waiting) const;

    const std::shared_ptr<single_key_link> link_;
    const redis_examination examined_;  ///< What is known without asking the server.
};

// Scans every key of the database, which takes long: for people, now and then.
asio::awaitable<result<std::set<std::string>>> single_key_store::names() {
    std::set<std::string> found;
    std::string cursor = "0";
    do {
        redis_command scan{"SCAN", cursor, "MATCH", pattern_of(link_->prefix())};
        scan.insert(scan.end(), {"COUNT", "1000", "TYPE", "string"});
        auto asking = link_->send(std::move(scan));
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        if (reply->items.size() != 2)
            co_return link_->refusal(*reply);
        cursor = reply->items[0].text;
        for (const auto& key : reply->items[1].items)
            found.insert(key.text.substr(link_->prefix().size()));
    } while (cursor != "0");
    found.erase(std::string(single_key_counter));
    co_return found;
}

asio::awaitable<result<std::vector<lock_view>>>
single_key_store::list(std::string after, std::size_t limit, std::size_t) {
    if (link_->prefix().empty())
        co_return link_->cannot("without a prefix it cannot tell locks from other keys");
    auto naming = names();
    const auto all = co_await std::move(naming);
    if (!all)
        co_return all.error();
    std::vector<std::string> page;
    for (auto at = all->upper_bound(after); at != all->end() && page.size() < limit; ++at)
        page.push_back(*at);
    auto viewing = views(std::move(page));
    co_return co_await std::move(viewing);
}

asio::awaitable<result<std::optional<lock_view>>>
single_key_store::inspect(std::string name, std::size_t) {
    std::vector<std::string> one;
    one.push_back(std::move(name));
    auto viewing = views(std::move(one));
    auto seen = co_await std::move(viewing);
    if (!seen)
        co_return seen.error();
    std::optional<lock_view> lock;
    if (!seen->empty())
        lock = std::move(seen->front());
    co_return lock;
}

asio::awaitable<result<std::vector<lock_view>>>
single_key_store::views(std::vector<std::string> names) {
    std::vector<lock_view> seen;
    constexpr std::size_t names_at_once = 250;
    for (std::size_t from = 0; from < names.size(); from += names_at_once) {
        const std::size_t count = std::min(names_at_once, names.size() - from);
        std::vector<std::string> keys;
        for (std::size_t at = from; at < from + count; ++at)
            keys.push_back(link_->prefix() + names[at]);
        auto asking = link_->ask(script_call(redis_script::single_key_view, std::move(keys)));
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        if (reply->items.size() != 3 * count)
            co_return error_code(errc::store_corrupt);
        for (std::size_t at = 0; at < count; ++at) {
            auto lock =
                view_of(names[from + at], reply->items[3 * at], reply->items[3 * at + 1].number);
            if (const auto left = reply->items[3 * at + 2].number; left >= 0)
                for (auto& holder : lock.holders)
                    holder.left = std::chrono::milliseconds(left);
            if (!lock.holders.empty() || lock.waiter_count != 0)
                seen.push_back(std::move(lock));
        }
    }
    co_return seen;
}

// Describes a lock. Of a holder in another session only the value of the key is known.
lock_view
single_key_store::view_of(std::string name, const redis_value& value, std::int64_t waiting) const {
    lock_view lock;
    lock.name = std::move(name);
    lock.waiter_count = static_cast<std::uint64_t>(std::max<std::int64_t>(waiting, 0));
    if (value.type != redis_value::kind::text || link_->is_counter(lock.name))
        return lock;
    party_view holder;
    holder.label = value.text;
    holder.token = single_key_token(value.text, link_->tokens());
    if (const auto* const own = link_->own(lock.name, value.text)) {
        holder.session = link_->who().id;
        holder.host = link_->who().host;
        holder.label = link_->who().label;
        holder.pid = link_->who().pid;
        holder.age = link_->now() - own->since;
    }
    lock.holders.push_back(std::move(holder));
    return lock;
}

asio::awaitable<result<bool>> single_key_store::break_(break_order order) {
    const std::string key = link_->prefix() + order.name;
    auto reading = link_->send({"GET", key});
    const auto value = co_await std::move(reading);
    if (!value)
        co_return value.error();
    if (value->type == redis_value::kind::error)
        co_return link_->refusal(*value);
    if (value->type != redis_value::kind::text || link_->is_counter(order.name))
        co_return false;
    const auto there = single_key_token(value->text, link_->tokens());
    if (there.base() != order.token.base() || there.domain != order.token.domain)
        co_return false;
    std::vector<std::string> arguments;
    arguments.push_back(key);
    arguments.push_back(value->text);
    auto asking = link_->ask(script_call(redis_script::single_key_break, std::move(arguments)));
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    co_return reply->number == 1;
}

asio::awaitable<result<std::vector<store_finding>>> single_key_store::examine() {
    auto found = examined_;
    auto asking = link_->ask_facts();
    auto facts = co_await std::move(asking);
    if (!facts)
        co_return facts.error();
    found.facts = std::move(*facts);
    found.has_session = link_->connected();
    co_return found.findings();
}

}  // namespace

std::unique_ptr<store> make_single_key_store(
    link_settings settings,
    redis_wire_factory wires,
    const token_domain& tokens,
    redis_examination known
) {
    return std::make_unique<single_key_store>(
        std::make_shared<single_key_link>(std::move(settings), std::move(wires), tokens),
        std::move(known)
    );
}

}  // namespace mortise::store_detail
