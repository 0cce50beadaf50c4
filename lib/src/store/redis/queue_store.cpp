// SPDX-License-Identifier: BSL-1.0
// The Redis store whose locks have queues: the rules are scripts at the server.
#include "core/queue_view.hpp"
#include "store/break_note.hpp"
#include "store/redis/queue_link.hpp"
#include "store/redis/queue_reaper.hpp"
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
using store_detail::queue_reaper;
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
    return text;
}

class queue_store final : public store_detail::queue_store_port {
public:
    queue_store(const redis_store_config& config, std::shared_ptr<queue_link> link)
        : link_(std::move(link)),
          reaper_(std::make_shared<queue_reaper>(link_)),
          quarantine_(!config.assume_new) {
        examined_.name = link_->name();
        examined_.tls = config.tls;
        examined_.fails_over = !config.sentinels.empty() || !config.cluster.empty();
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
        traits.shared = traits.permits = traits.hold_max = traits.extend = true;
        // The answer to a release does not wait for replicas, and that to a request does.
        traits.release_and_request = examined_.min_replicas == 0;
        traits.request_in_order = examined_.min_replicas == 0;
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

    asio::awaitable<error_code> end() override {
        const auto link = link_;
        const auto reaper = reaper_;
        auto ending = link->end();
        const auto name = co_await std::move(ending);
        if (!name)
            co_return name.error();
        auto burying = reaper->bury(*name);
        if (const auto failed = co_await std::move(burying))
            co_return failed;
        link->ended(*name);
        co_return error_code();
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        if (!core::sound(request.mode))
            co_return error_code(errc::bad_mode);
        const auto link = link_;
        auto waiting = link->session_turn(request.name);
        const auto turn = co_await std::move(waiting);
        if (!turn)
            co_return turn.error();
        auto asking = link->act_at(call_for(request, redis_script::request));
        const auto raw = co_await std::move(asking);
        if (!raw)
            co_return raw.error();
        const auto reply = store_detail::parse_answer(*raw, link->domain());
        if (reply && reply->type == answer::kind::queued)
            link->note_request(request.id, request.name);
        if (!reply || reply->type != answer::kind::granted || !link->asks_replicas())
            co_return reply;
        auto confirming = link->confirm(link->one_grant(request.id, reply->token, request.name));
        if (const auto failed = co_await std::move(confirming))
            co_return failed;
        co_return reply;
    }

    asio::awaitable<result<answers_in_order>> request_in_order(std::vector<lock_request> requests
    ) override {
        const auto link = link_;
        const auto count = requests.size();
        std::vector<std::string> names;
        std::vector<std::string> texts;
        bool sound = true;
        for (std::size_t i = 0; i < count; ++i) {
            sound = sound && core::sound(requests[i].mode);
            names.push_back(requests[i].name);
            texts.push_back(request_text(requests[i]));
        }
        if (!sound || count == 0 || link->asks_replicas()) {
            auto one_by_one = store::request_in_order(std::move(requests));
            co_return co_await std::move(one_by_one);
        }
        auto waiting = link->session_turns(names);
        const auto turns = co_await std::move(waiting);
        if (!turns)
            co_return turns.error();
        auto asking = link->act_in_order(std::move(names), std::move(texts));
        const auto raw = co_await std::move(asking);
        if (!raw)
            co_return raw.error();
        co_return store_detail::parse_answers(*raw, count, link->domain());
    }

    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        const auto link = link_;
        auto waiting = link->session_turn(name);
        const auto turn = co_await std::move(waiting);
        if (!turn)
            co_return turn.error();
        auto asking =
            link->act_at({redis_script::withdraw, redis_script::withdraw, name, std::to_string(id)}
            );
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        const auto done = store_detail::parse_done(*reply);
        if (!done)
            link->forget_request(id);
        co_return done;
    }

    asio::awaitable<result<bool>> release(grant held) override {
        const auto link = link_;
        const auto text = grant_text(held, link->domain());
        if (!text)
            co_return false;
        auto waiting = link->session_turn(held.name);
        const auto turn = co_await std::move(waiting);
        if (!turn)
            co_return turn.error();
        auto asking =
            link->act_at({redis_script::release, redis_script::release_rules, held.name, *text});
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        const auto released = store_detail::parse_released(*reply);
        if (released)
            link->forget_request(held.id);
        co_return released;
    }

    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        const auto link = link_;
        const auto text = grant_text(held, link->domain());
        const bool together = text && core::sound(request.mode) && request.name == held.name;
        if (!together || link->asks_replicas()) {
            auto one_by_one = store::release_and_request(std::move(held), std::move(request));
            co_return co_await std::move(one_by_one);
        }
        auto waiting = link->session_turn(held.name);
        const auto turn = co_await std::move(waiting);
        if (!turn)
            co_return released_and_asked(turn.error());
        auto call = call_for(request, redis_script::release_request);
        call.released = *text;
        auto acting = link->act_at(std::move(call));
        const auto raw = co_await std::move(acting);
        if (!raw)
            co_return released_and_asked(raw.error());
        co_return store_detail::parse_released_and_asked(*raw, link->domain());
    }

    asio::awaitable<result<heartbeat>> beat(proof_number) override {
        // There may be more to reap than is done at once.
        constexpr clock::duration look_after_reaping = std::chrono::milliseconds(10);
        const auto link = link_;
        const auto reaper = reaper_;
        const clock::time_point sent = link->now();
        auto asking = link->act(store_detail::script_call(
            redis_script::beat,
            link->keys().all(link->session_name()),
            one_text(link->argument(std::to_string(link->longest_ttl().count())))
        ));
        const auto raw = co_await std::move(asking);
        if (!raw)
            co_return raw.error();
        auto reply = store_detail::parse_beat(*raw);
        if (!reply)
            co_return reply.error();
        link->note_state(std::move(reply->run), reply->deadline);
        if (link->asks_replicas()) {
            auto confirming = link->confirm(store_detail::written_grants());
            if (const auto failed = co_await std::move(confirming))
                co_return failed;
        }
        link->compare_watching(reply->watches);
        heartbeat proof = reply->value;
        proof.sent = sent;
        if (reply->is_full())
            proof.next_deadline = clock::duration::zero();
        else if (reply->has_any())
            proof.next_deadline = look_after_reaping;
        reaper->begin(std::move(*reply));
        co_return proof;
    }

    asio::awaitable<result<session_view>> look(proof_number) override {
        const auto link = link_;
        auto viewing = link->read_view();
        auto view = co_await std::move(viewing);
        if (!view || !link->asks_replicas())
            co_return view;
        auto confirming = link->confirm(*view);
        if (const auto failed = co_await std::move(confirming))
            co_return failed;
        co_return view;
    }

    asio::awaitable<result<token_range>> draw(grant held) override {
        const auto link = link_;
        const auto text = grant_text(held, link->domain());
        if (!text)
            co_return error_code(errc::lease_lost);
        auto waiting = link->session_turn(held.name);
        const auto turn = co_await std::move(waiting);
        if (!turn)
            co_return turn.error();
        auto asking = link->act_at({redis_script::draw, redis_script::draw, held.name, *text});
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        co_return store_detail::parse_drawn(*reply, held.token.domain);
    }

    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        const auto link = link_;
        auto text = grant_text(held, link->domain());
        if (!text)
            co_return error_code(errc::lease_lost);
        *text += ' ' + store_detail::hold_text(hold_max);
        auto waiting = link->session_turn(held.name);
        const auto turn = co_await std::move(waiting);
        if (!turn)
            co_return turn.error();
        auto asking = link->act_at({redis_script::extend, redis_script::extend, held.name, *text});
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        const auto kept = store_detail::parse_extended(*reply);
        if (!kept || !link->asks_replicas())
            co_return kept;
        auto written = link->one_grant(held.id, held.token, held.name);
        written.front().hold_max = *kept;
        auto confirming = link->confirm(std::move(written));
        if (const auto failed = co_await std::move(confirming))
            co_return failed;
        co_return kept;
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
        auto keys = link_->keys().own(link_->session_name());
        keys.push_back(link_->keys().of("w"));
        auto asking = link_->act(store_detail::script_call(
            redis_script::watch, std::move(keys), one_text(link_->argument({}))
        ));
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        co_return store_detail::parse_done(*reply);
    }

    asio::awaitable<result<store_detail::redis_examination>> examination() override;
    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        auto examining = examination();
        const auto found = co_await std::move(examining);
        if (!found)
            co_return found.error();
        co_return found->findings();
    }

    std::string explain() const override { return link_->explain(); }

private:
    queue_link::lock_call call_for(const lock_request& request, redis_script brief) const {
        // The short ways are for plain requests.
        const bool plain = request.mode.type() == lock_mode::kind::exclusive &&
                           request.hold_max == std::chrono::milliseconds::max();
        if (!plain)
            link_->note_crowd(request.name);
        const auto rules = redis_script::request_rules;
        return {plain ? brief : rules, rules, request.name, request_text(request)};
    }
    static std::vector<std::string> one_text(std::string text) {
        return std::vector<std::string>(1, std::move(text));
    }
    asio::awaitable<result<std::vector<lock_view>>>
    locks(std::vector<std::string> names, std::size_t queue_max);
    asio::awaitable<result<std::set<std::string>>> names(std::string after, std::size_t limit);
    asio::awaitable<result<token_domain>> domain();
    asio::awaitable<result<std::chrono::milliseconds>> left_of_quarantine();

    std::shared_ptr<queue_link> link_;
    const std::shared_ptr<queue_reaper> reaper_;
    const bool quarantine_;
    store_detail::redis_examination examined_;  ///< What is known without asking the server.
};

// Reads what the server knows of the locks in `names`; locks that are free are left out.
asio::awaitable<result<std::vector<lock_view>>>
queue_store::locks(std::vector<std::string> names, std::size_t queue_max) {
    constexpr std::size_t most = 1u << 20;
    const auto& keys_of = link_->keys();
    auto keys = keys_of.own({});
    keys.push_back(keys_of.of("n"));
    keys.push_back(keys_of.of("id"));
    for (const auto& each : names) {
        keys.push_back(keys_of.lock(each));
        keys.push_back(keys_of.queue(each));
        keys.push_back(keys_of.crowd(each));
    }
    auto asking = link_->ask(store_detail::script_call(
        redis_script::list, std::move(keys), one_text(std::to_string(std::min(queue_max, most)))
    ));
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
    auto keys = link_->keys().own({});
    keys.push_back(link_->keys().of("d"));
    auto asking = link_->ask(
        store_detail::script_call(redis_script::names, std::move(keys), std::vector<std::string>())
    );
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
            auto surveying = link_->ask(store_detail::survey_of(link_->keys(), session, cursor));
            reply = co_await std::move(surveying);
            if (!reply)
                co_return reply.error();
            auto some = store_detail::parse_survey(*reply);
            if (!some)
                co_return some.error();
            cursor = std::move(some->cursor);
            for (auto& each : some->entries) {
                if (each.lock > after)
                    found.insert(std::move(each.lock));
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
    auto asking = link_->send({"HGET", link_->keys().of("id"), "o"});
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
    auto keys = link_->keys().rules({});
    link_->keys().add_lock(keys, order.name);
    keys.push_back(link_->keys().of("n"));
    keys.push_back(link_->keys().of("b"));
    keys.push_back(link_->keys().of("id"));
    std::vector<std::string> arguments;
    arguments.push_back(std::to_string(order.token.base()));
    arguments.push_back(std::to_string(*slot));
    arguments.push_back(std::move(order.who));
    arguments.push_back(std::move(order.why));
    arguments.push_back(std::to_string(store_detail::holders_named));
    arguments.push_back(std::to_string(store_detail::breaks_kept));
    auto asking = link_->ask(
        store_detail::script_call(redis_script::break_, std::move(keys), std::move(arguments))
    );
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
        {"LRANGE", link_->keys().of("b"), "0", std::to_string(store_detail::breaks_kept - 1)}
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
    auto asking = link_->send({"HGET", link_->keys().of("s"), "t"});
    const auto until = co_await std::move(asking);
    if (!until)
        co_return until.error();
    auto asking_time = link_->send({"TIME"});
    const auto time = co_await std::move(asking_time);
    if (!time)
        co_return time.error();
    co_return store_detail::parse_time_left(store_detail::quarantine_end_in(until->text), *time);
}

asio::awaitable<result<store_detail::redis_examination>> queue_store::examination() {
    auto found = examined_;
    auto asking = link_->ask_facts();
    auto facts = co_await std::move(asking);
    if (!facts)
        co_return facts.error();
    found.facts = std::move(*facts);
    found.has_session = !link_->domain().empty();
    auto remembering = link_->send({"ZRANGE", link_->keys().of("u"), "0", "-1"});
    const auto remembered = co_await std::move(remembering);
    if (!remembered)
        co_return remembered.error();
    found.remembered_ttl = store_detail::parse_longest_ttl(*remembered);
    auto resting = left_of_quarantine();
    const auto left = co_await std::move(resting);
    if (!left)
        co_return left.error();
    found.quarantine = *left;
    auto counting = link_->send({"ZCARD", link_->keys().of("d")});
    const auto sessions = co_await std::move(counting);
    if (!sessions)
        co_return sessions.error();
    auto gathering = names("", std::numeric_limits<std::size_t>::max());
    const auto locks = co_await std::move(gathering);
    if (!locks)
        co_return locks.error();
    found.sessions = static_cast<std::uint64_t>(std::max<std::int64_t>(sessions->number, 0));
    found.locks = locks->size();
    co_return found;
}

}  // namespace

std::unique_ptr<store_detail::queue_store_port> store_detail::make_queue_store(
    const redis_store_config& config, link_settings settings, redis_wire_factory wires
) {
    return std::make_unique<queue_store>(
        config, std::make_shared<queue_link>(std::move(settings), std::move(wires))
    );
}

}  // namespace mortise
