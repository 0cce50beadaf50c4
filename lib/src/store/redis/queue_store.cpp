// SPDX-License-Identifier: BSL-1.0
// The Redis store whose locks have queues: the rules are scripts at the server.
#include "core/queue_view.hpp"
#include "store/break_note.hpp"
#include "store/redis/queue_link.hpp"
#include "store/redis/redis_answers.hpp"
#include "store/redis/redis_examination.hpp"
#include "store/redis/redis_stores.hpp"
#include "store/redis/stored_entry.hpp"
#include "store/store_domain.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <utility>

namespace mortise {
namespace {

using store_detail::queue_link;
using store_detail::redis_script;
using store_detail::redis_value;

// Names a grant to a script: its id, its base, and its slot if it has one. Nothing if this store
// cannot have given the token to a grant.
std::optional<std::string> grant_text(const grant& held, const token_domain& domain) {
    constexpr std::uint64_t sequence = (1u << fencing_token::sequence_bits) - 1;
    const auto slot = held.token.domain.slot_in(domain);
    if (!slot || (held.token.value & sequence) != 0)
        return std::nullopt;
    std::string text = std::to_string(held.id) + ' ' + std::to_string(held.token.base());
    if (*slot != 0)
        text += ':' + std::to_string(*slot);
    return text;
}

std::string request_text(const lock_request& request) {
    std::string text = std::to_string(request.id) + ' ' + store_detail::mode_text(request.mode);
    if (request.hold_max != std::chrono::milliseconds::max())
        text += '@' + std::to_string(request.hold_max.count());
    if (!request.queue)
        text += '!';
    text += ' ';
    text += request.name;
    return text;
}

class queue_store final : public store {
public:
    queue_store(const redis_store_config& config, std::shared_ptr<queue_link> link)
        : link_(std::move(link)), quarantine_(!config.assume_new) {
        examined_.name = link_->name();
        examined_.tls = config.tls;
        examined_.sentinels = !config.sentinels.empty();
        examined_.min_replicas = config.min_replicas;
        examined_.longest_ttl = config.longest_ttl;
    }
    ~queue_store() override { link_->detach(); }

    store_traits traits() const noexcept override {
        store_traits traits;
        traits.remote = true;
        traits.quarantine = quarantine_;
        traits.scheme = "redis";
        traits.strength = link_->strength();
        traits.push = traits.fair = traits.server_clock = true;
        traits.shared = traits.permits = traits.hold_max = true;
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
        return link_->open(std::move(start));
    }

    asio::awaitable<error_code> end() override { return link_->end(); }

    asio::awaitable<result<answer>> request(lock_request request) override {
        if (!core::sound(request.mode))
            co_return error_code(errc::bad_mode);
        const auto wanted = request.id;
        auto asking = link_->act(redis_script::request, request_text(request));
        const auto raw = co_await std::move(asking);
        if (!raw)
            co_return raw.error();
        const auto reply = store_detail::parse_answer(*raw, link_->domain());
        if (!reply || reply->type != answer::kind::granted || !link_->asks_replicas())
            co_return reply;
        auto confirming = link_->confirm(store_detail::one_grant(wanted, reply->token));
        if (const auto failed = co_await std::move(confirming))
            co_return failed;
        co_return reply;
    }

    asio::awaitable<error_code> withdraw(std::string, request_id id) override {
        auto asking = link_->act(redis_script::withdraw, std::to_string(id));
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        co_return store_detail::parse_done(*reply);
    }

    asio::awaitable<result<bool>> release(grant held) override {
        const auto text = grant_text(held, link_->domain());
        if (!text)
            co_return false;
        auto asking = link_->act(redis_script::release, *text);
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        co_return store_detail::parse_released(*reply);
    }

    asio::awaitable<result<heartbeat>> beat(proof_number) override {
        const clock::time_point sent = link_->now();
        auto asking = link_->act(redis_script::beat, std::to_string(link_->longest_ttl().count()));
        const auto raw = co_await std::move(asking);
        if (!raw)
            co_return raw.error();
        auto reply = store_detail::parse_beat(*raw);
        if (!reply)
            co_return reply.error();
        link_->note_state(std::move(reply->run), reply->deadline);
        if (link_->asks_replicas()) {
            auto confirming = link_->confirm({});
            if (const auto failed = co_await std::move(confirming))
                co_return failed;
        }
        link_->compare_watching(reply->watches);
        reply->value.sent = sent;
        co_return reply->value;
    }

    asio::awaitable<result<session_view>> look(proof_number) override {
        auto asking = link_->act(redis_script::look, {});
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        auto view = store_detail::parse_view(*reply, link_->domain());
        if (!view || !link_->asks_replicas())
            co_return view;
        auto confirming = link_->confirm(store_detail::grants_of(*view));
        if (const auto failed = co_await std::move(confirming))
            co_return failed;
        co_return view;
    }

    asio::awaitable<result<token_range>> draw(grant held) override {
        const auto text = grant_text(held, link_->domain());
        if (!text)
            co_return error_code(errc::lease_lost);
        auto asking = link_->act(redis_script::draw, *text);
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        co_return store_detail::parse_drawn(*reply, held.token.domain);
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        constexpr std::size_t at_once = 256;
        auto gathering = names(std::move(after), limit);
        const auto all = co_await std::move(gathering);
        if (!all)
            co_return all.error();
        std::vector<lock_view> found;
        for (auto next = all->begin(); next != all->end();) {
            std::vector<std::string> some;
            while (next != all->end() && some.size() < at_once)
                some.push_back(*next++);
            auto asking = locks(std::move(some), queue_max);
            auto seen = co_await std::move(asking);
            if (!seen)
                co_return seen.error();
            std::move(seen->begin(), seen->end(), std::back_inserter(found));
        }
        co_return found;
    }

    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        std::vector<std::string> one;
        one.push_back(std::move(name));
        auto asking = locks(std::move(one), queue_max);
        auto seen = co_await std::move(asking);
        if (!seen)
            co_return seen.error();
        std::optional<lock_view> lock;
        if (!seen->empty())
            lock = std::move(seen->front());
        co_return lock;
    }

    asio::awaitable<result<bool>> break_(break_order order) override;
    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override;

    asio::awaitable<error_code> watch() override {
        link_->begin_to_watch();
        auto asking = link_->act(redis_script::watch, {});
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        co_return store_detail::parse_done(*reply);
    }

    asio::awaitable<result<std::vector<store_finding>>> examine() override;

    std::string explain() const override { return link_->explain(); }

private:
    asio::awaitable<result<std::vector<lock_view>>>
    locks(std::vector<std::string> names, std::size_t queue_max);
    asio::awaitable<result<std::set<std::string>>> names(std::string after, std::size_t limit);
    asio::awaitable<result<token_domain>> domain();
    asio::awaitable<result<std::chrono::milliseconds>> left_of_quarantine();

    std::shared_ptr<queue_link> link_;
    const bool quarantine_;
    store_detail::redis_examination examined_;  ///< What is known without asking the server.
};

// Reads what the server knows of the locks in `names`; locks that are free are left out.
asio::awaitable<result<std::vector<lock_view>>>
queue_store::locks(std::vector<std::string> names, std::size_t queue_max) {
    constexpr std::size_t most = 1u << 20;
    std::vector<std::string> arguments;
    arguments.push_back(std::to_string(std::min(queue_max, most)));
    std::move(names.begin(), names.end(), std::back_inserter(arguments));
    auto asking = link_->ask(redis_script::list, std::move(arguments));
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    co_return store_detail::parse_locks(*reply);
}

// Collects the first `limit` names of locks after `after`, in byte order. The store keeps no index
// of names, because every acquire would pay for it: so the entries of all sessions are scanned, in
// portions.
asio::awaitable<result<std::set<std::string>>>
queue_store::names(std::string after, std::size_t limit) {
    std::vector<std::string> nothing;
    auto asking = link_->ask(redis_script::names, std::move(nothing));
    auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    const auto sessions = store_detail::parse_names(std::move(*reply));
    if (!sessions)
        co_return sessions.error();
    std::set<std::string> found;
    for (const auto& session : *sessions) {
        std::string cursor = "0";
        do {
            std::vector<std::string> from{session, cursor};
            auto scanning = link_->ask(redis_script::names, std::move(from));
            reply = co_await std::move(scanning);
            if (!reply)
                co_return reply.error();
            auto some = store_detail::parse_names(std::move(*reply));
            if (!some || some->empty())
                co_return error_code(errc::store_corrupt);
            cursor = std::move(some->front());
            for (std::size_t i = 1; i < some->size(); ++i) {
                if ((*some)[i] > after)
                    found.insert(std::move((*some)[i]));
                if (found.size() > limit)
                    found.erase(std::prev(found.end()));
            }
        } while (cursor != "0");
    }
    co_return found;
}

// Reads the domain from the server if no session has been resumed here that would have told it.
asio::awaitable<result<token_domain>> queue_store::domain() {
    if (!link_->domain().empty())
        co_return link_->domain();
    auto asking = link_->send({"HGET", link_->prefix() + "id", "o"});
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    co_return store_detail::parse_store_domain(reply->text).value_or(token_domain());
}

asio::awaitable<result<bool>> queue_store::break_(break_order order) {
    auto knowing = domain();
    const auto known = co_await std::move(knowing);
    if (!known)
        co_return known.error();
    const auto slot = order.token.domain.slot_in(*known);
    if (!slot)
        co_return false;
    std::vector<std::string> arguments;
    arguments.push_back(std::move(order.name));
    arguments.push_back(std::to_string(order.token.base()));
    arguments.push_back(std::to_string(*slot));
    arguments.push_back(std::move(order.who));
    arguments.push_back(std::move(order.why));
    arguments.push_back(std::to_string(store_detail::holders_named));
    arguments.push_back(std::to_string(store_detail::breaks_kept));
    auto asking = link_->ask(redis_script::break_, std::move(arguments));
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    co_return store_detail::parse_broken(*reply);
}

asio::awaitable<result<std::vector<break_record>>>
queue_store::breaks(std::string name, std::size_t limit) {
    auto knowing = domain();
    const auto known = co_await std::move(knowing);
    if (!known)
        co_return known.error();
    auto asking = link_->send(
        {"LRANGE", link_->prefix() + "b", "0", std::to_string(store_detail::breaks_kept - 1)}
    );
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    auto records = store_detail::parse_breaks(*reply, name, *known);
    if (records && records->size() > limit)
        records->resize(limit);
    co_return records;
}

asio::awaitable<result<std::chrono::milliseconds>> queue_store::left_of_quarantine() {
    auto asking = link_->send({"HGET", link_->prefix() + "m", "q"});
    const auto until = co_await std::move(asking);
    if (!until)
        co_return until.error();
    auto asking_time = link_->send({"TIME"});
    const auto time = co_await std::move(asking_time);
    if (!time)
        co_return time.error();
    co_return store_detail::parse_time_left(until->text, *time);
}

asio::awaitable<result<std::vector<store_finding>>> queue_store::examine() {
    auto found = examined_;
    auto asking = link_->ask_facts();
    auto facts = co_await std::move(asking);
    if (!facts)
        co_return facts.error();
    found.facts = std::move(*facts);
    found.has_session = !link_->domain().empty();
    auto remembering = link_->send({"ZRANGE", link_->prefix() + "u", "0", "-1"});
    const auto remembered = co_await std::move(remembering);
    if (!remembered)
        co_return remembered.error();
    found.remembered_ttl = store_detail::parse_longest_ttl(*remembered);
    auto resting = left_of_quarantine();
    const auto left = co_await std::move(resting);
    if (!left)
        co_return left.error();
    found.quarantine = *left;
    auto counting = link_->send({"ZCARD", link_->prefix() + "d"});
    const auto sessions = co_await std::move(counting);
    if (!sessions)
        co_return sessions.error();
    auto gathering = names("", std::numeric_limits<std::size_t>::max());
    const auto locks = co_await std::move(gathering);
    if (!locks)
        co_return locks.error();
    found.sessions = static_cast<std::uint64_t>(std::max<std::int64_t>(sessions->number, 0));
    found.locks = locks->size();
    co_return found.findings();
}

}  // namespace

std::unique_ptr<store> store_detail::make_queue_store(
    const redis_store_config& config, link_settings settings, redis_wire_factory wires
) {
    return std::make_unique<queue_store>(
        config, std::make_shared<queue_link>(std::move(settings), std::move(wires))
    );
}

}  // namespace mortise
