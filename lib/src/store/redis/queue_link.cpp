// SPDX-License-Identifier: BSL-1.0
#include "store/redis/queue_link.hpp"

#include "store/redis/redis_answers.hpp"
#include "store/redis/stored_entry.hpp"
#include "store/redis/words.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace mortise::store_detail {
namespace {

std::uint64_t micros(std::chrono::milliseconds time) {
    return static_cast<std::uint64_t>(std::chrono::microseconds(time).count());
}

}  // namespace

written_grants one_grant(request_id id, const fencing_token& token) {
    return written_grants(1, {id, token.base()});
}

written_grants grants_of(const session_view& view) {
    written_grants all;
    for (const auto& each : view.entries) {
        if (each.granted)
            all.emplace_back(each.id, each.token.base());
    }
    return all;
}

void queue_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    redis_link::attach(std::move(strand), events, std::move(time));
    const auto replicas = settings().min_replicas;
    if (replicas != 0) {
        quorum_ = std::make_shared<replica_quorum>(
            redis_link::strand(),
            redis_link::time(),
            replicas,
            scripts()[redis_script::confirm],
            wires()
        );
    }
}

void queue_link::dropped() noexcept {
    if (quorum_)
        quorum_->close();
}

asio::awaitable<redis_failure> queue_link::prepare(wire_ptr wire) {
    return wire->subscribe(prefix() + "i:" + session_name());
}

asio::awaitable<result<resumed>> queue_link::prove() {
    const auto sent = now();
    auto resuming = evaluate(newest_wire(), redis_script::resume, resume_arguments());
    const auto raw = co_await std::move(resuming);
    if (!raw)
        co_return raw.error();
    auto session = parse_resumed(*raw);
    if (!session)
        co_return session.error();
    note_state(std::move(session->run), session->now + micros(redis_link::session().ttl));
    auto confirming = confirm(grants_of(session->view));
    if (const auto failed = co_await std::move(confirming))
        co_return failed;
    seen_ = true;
    set_domain(session->domain);
    resumed reply;
    reply.sent = sent;
    reply.incarnation = session->incarnation;
    reply.domain = session->domain;
    reply.view = std::move(session->view);
    reply.quarantine = session->quarantine;
    co_return reply;
}

std::vector<std::string> queue_link::resume_arguments() const {
    std::vector<std::string> arguments;
    arguments.push_back(session_name());
    arguments.push_back(session().id.text());
    arguments.push_back(std::to_string(session().generation));
    arguments.push_back(std::to_string(session().ttl.count()));
    arguments.push_back(session().host);
    arguments.push_back(session().label);
    arguments.push_back(std::to_string(session().pid));
    arguments.push_back(random_id::draw().text());
    arguments.push_back(settings().domain);
    // A client that had a session at this store knows that the store is not new.
    arguments.push_back(settings().assume_new && !seen_ ? "1" : "0");
    arguments.push_back(std::to_string(settings().longest_ttl.count()));
    return arguments;
}

void queue_link::note_state(std::string run, std::uint64_t deadline) {
    run_ = std::move(run);
    deadline_ = deadline;
    write_accepted();
}

asio::awaitable<error_code> queue_link::confirm(written_grants grants) {
    constexpr std::size_t at_once = 256;
    if (!quorum_)
        co_return error_code();
    const auto kept = shared_from_this();
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(patience());
    do {
        const auto first = grants.size() - std::min(grants.size(), at_once);
        written_state state;
        state.session = session_name() + ' ' + std::to_string(session().generation) + ' ' + run_ +
                        ' ' + std::to_string(deadline_);
        state.grants.assign(grants.begin() + static_cast<std::ptrdiff_t>(first), grants.end());
        grants.resize(first);
        const auto asked = state.grants;
        auto reaching = quorum_->reach(std::move(state), limit);
        const auto answer = co_await std::move(reaching);
        if (const auto failed = judge(answer, asked))
            co_return failed;
    } while (!grants.empty());
    co_return error_code();
}

error_code queue_link::judge(const quorum_answer& answer, const written_grants& asked) {
    if (answer.elsewhere) {
        leave_server({answer.code, "the address leads to another server by now"});
        return answer.code;
    }
    if (answer.code == errc::not_enough_replicas) {
        const std::string text = "waiting for replicas: " + answer.code.message();
        if (now() - too_few_since_.value_or(now()) >= session().ttl)
            leave_server({answer.code, text});
        else
            remember({answer.code, text});
        too_few_since_ = too_few_since_.value_or(now());
        return answer.code;
    }
    if (answer.code)
        return remember({answer.code, "waiting for replicas: " + answer.code.message()});
    too_few_since_.reset();
    for (const auto id : answer.missing) {
        const auto is_it = [id](const auto& each) { return each.first == id; };
        if (std::any_of(asked.begin(), asked.end(), is_it))
            return remember(
                {errc::outcome_unknown,
                 "a grant is not at the server that has the "
                 "replicas"}
            );
    }
    return error_code();
}

// Needs no connection of the session: an end whose answer was lost leaves a session that is dead
// and gets none any more, with some of its entries.
asio::awaitable<error_code> queue_link::end() {
    const auto kept = shared_from_this();
    auto settling = settle();
    co_await std::move(settling);
    const auto meant = session().id;
    const std::string name = session_name();
    if (name.empty())
        co_return errc::store_unavailable;
    for (bool more = true; more;) {
        std::vector<std::string> arguments;
        arguments.push_back(name);
        auto ending = ask(redis_script::end, std::move(arguments));
        const auto reply = co_await std::move(ending);
        if (!reply)
            co_return reply.error();
        const auto answered = parse_ended(*reply);
        if (!answered)
            co_return answered.error();
        more = *answered;
    }
    if (session().id == meant)
        end_session();
    co_return error_code();
}

void queue_link::on_message(const std::string& text) {
    if (const auto event = parse_push(text, domain()))
        hear(*event);
}

// Tells a grant only when the replicas have it, too: before that it does not count.
void queue_link::hear(const store_event& event) {
    if (quorum_ && event.type == store_event::kind::granted)
        asio::co_spawn(strand(), tell_confirmed(shared_from_this(), event), asio::detached);
    else
        tell_now(event);
}

asio::awaitable<void>
queue_link::tell_confirmed([[maybe_unused]] std::shared_ptr<session_link> self, store_event event) {
    const auto meant = session().id;
    auto confirming = confirm(one_grant(event.id, event.token));
    const auto failed = co_await std::move(confirming);
    if (!failed && session().id == meant)
        tell_now(event);  // If not, the next heartbeat that is confirmed finds the grant.
}

std::optional<store_event> parse_push(std::string_view message, const token_domain& domain) {
    words reader(message);
    const auto kind = reader.next();
    store_event event;
    std::uint64_t base = 0;
    if (kind == "g" || kind == "t") {
        event.type = kind == "g" ? store_event::kind::granted : store_event::kind::contended;
        event.id = reader.number();
        base = reader.base();
        event.slot = reader.number<std::uint32_t>();
        event.contended = kind == "t" || reader.flag();
    } else if (kind == "a") {
        event.type = store_event::kind::look_again;
    } else if (kind == "c") {
        event.type = store_event::kind::changed;
    } else {
        return std::nullopt;
    }
    if (reader.failed() || !reader.at_end() || event.slot > lock_mode::capacity_max)
        return std::nullopt;
    if (base != 0)  // A slot beyond the limit would not fit into a domain.
        event.token = token_of(base, event.slot, domain);
    return event;
}

}  // namespace mortise::store_detail
