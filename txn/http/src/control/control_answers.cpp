// SPDX-License-Identifier: BSL-1.0
#include "control/control_answers.hpp"

#include "control/control_json.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/txn/error.hpp"
#include "wire/fields.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace mortise::txn::http {
namespace {

using coro::detail::with_code;

// Each question makes the coordinator call branches at once that wait for their next attempt. After
// so many questions, a participant that does not answer need not be hurried further.
constexpr std::size_t asked_max = 1'000;

}  // namespace

/// The clients that wait for the end of one transaction.
struct settle_desk::wait {
    std::size_t asked = 0;  ///< Questions at the coordinator; it answers all of them at once.
    std::optional<result<standing>> answer;
    std::set<coro::event*> waiters;
};

asio::awaitable<result<standing>> settle_desk::ask(gid gid) {
    auto got = co_await at_.async_outcome(gid, with_code);
    auto& [failed, outcome] = got;
    co_return standing_of(failed, outcome);
}

asio::awaitable<result<standing>>
settle_desk::settle(gid gid, coro::time_source& time, clock::duration limit) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    auto& entry = waiting_[gid];
    if (entry == nullptr || entry->answer) {
        entry = std::make_shared<wait>();
        std::erase_if(waiting_, [](const auto& each) { return each.second->answer.has_value(); });
    }
    const auto mine = entry;
    coro::event ready(strand);
    mine->waiters.insert(&ready);
    struct leave {
        ~leave() { from->waiters.erase(event); }
        const std::shared_ptr<wait>& from;
        coro::event* event;
    };
    const leave on_return{mine, &ready};
    if (mine->asked < asked_max) {
        ++mine->asked;
        at_.async_settle(
            gid,
            asio::bind_executor(
                strand,
                [mine](error_code failed, const outcome& outcome) {
                    mine->answer = standing_of(failed, outcome);
                    for (auto* const each : mine->waiters)
                        each->set();
                }
            )
        );
    }
    coro::detail::alarm too_late;
    too_late.set(time, strand, coro::saturating_add(time.now(), limit), [&ready] { ready.set(); });
    co_await ready.async_wait();
    if (mine->answer)
        co_return *mine->answer;
    co_return co_await ask(gid);
}

namespace {

constexpr std::size_t list_usual = 100;
constexpr std::uint64_t list_max = 1'000;
constexpr std::string_view root = "/txn";

response json_response(unsigned status, std::string text) {
    response answer(status, std::move(text));
    answer.headers.add(fields::content_type, "application/json");
    return answer;
}

response refusal(unsigned status, std::string_view name, std::string_view message) {
    return json_response(status, error_json(name, message));
}

// Makes the answer to an error of the coordinator.
response failure(const error_code& why) {
    if (why == errc::not_open)
        return refusal(409, "not_open", why.message());
    if (why == errc::not_stuck)
        return refusal(409, "not_stuck", why.message());
    return refusal(503, "unavailable", why.message());
}

response no_such_transaction() {
    return refusal(404, "never_existed", "this coordinator knows of no such transaction");
}

std::optional<intervention::kind> kind_of(std::string_view word) noexcept {
    using kind = intervention::kind;
    for (const auto each : {kind::retry, kind::skip, kind::force}) {
        if (word == to_string(each))
            return each;
    }
    return std::nullopt;
}

/// The parts of a target `/txn/GID/WORD?QUERY`.
struct place {
    explicit place(std::string_view target) {
        const auto mark = std::min(target.find('?'), target.size());
        query = target.substr(std::min(mark + 1, target.size()));
        target = target.substr(0, mark);
        known = target.substr(0, root.size()) == root;
        target.remove_prefix(known ? root.size() : target.size());
        if (target.empty())
            return;
        known = known && target.front() == '/';
        target.remove_prefix(1);
        const auto slash = std::min(target.find('/'), target.size());
        id = gid::parse(target.substr(0, slash));
        known = known && id;
        word = target.substr(std::min(slash + 1, target.size()));
    }

    bool known = false;
    std::optional<gid> id;
    std::string_view word;
    std::string_view query;
};

struct list_query {
    list_filter filter = list_filter::all;
    std::uint64_t after = 0;
    std::size_t limit = list_usual;
};

std::optional<list_query> read_query(std::string_view text) {
    constexpr auto number_max = std::uint64_t(std::numeric_limits<std::int64_t>::max());
    list_query query;
    while (!text.empty()) {
        const auto end = std::min(text.find('&'), text.size());
        const auto each = text.substr(0, end);
        text = text.substr(std::min(end + 1, text.size()));
        const auto equals = std::min(each.find('='), each.size());
        const auto name = each.substr(0, equals);
        const auto value = each.substr(std::min(equals + 1, each.size()));
        const auto number = decimal(value, name == "limit" ? list_max : number_max);
        if (name == "filter" && value == "stuck")
            query.filter = list_filter::stuck;
        else if (name == "filter" && value == "unfinished")
            query.filter = list_filter::unfinished;
        else if (name == "after" && number)
            query.after = *number;
        else if (name == "limit" && number && *number > 0)
            query.limit = static_cast<std::size_t>(*number);
        else if (name != "filter" || value != "all")
            return std::nullopt;
    }
    return query;
}

}  // namespace

control_answers::control_answers(
    coordinator& of,
    token_check callers,
    std::chrono::milliseconds settle_max,
    std::shared_ptr<coro::time_source> time
)
    : of_(of),
      callers_(std::move(callers)),
      settle_max_(settle_max),
      time_(std::move(time)),
      desk_(of) {}

asio::awaitable<response> control_answers::answer(const request& message) {
    if (!callers_.admits(message.headers)) {
        response refused =
            token_check::refusal(error_json("access_denied", "send Authorization: Bearer TOKEN"));
        refused.headers.add(fields::content_type, "application/json");
        co_return refused;
    }
    const place at(message.target);
    const bool looks = at.word.empty() || at.word == "outcome";
    const auto how = kind_of(at.word);
    if (!at.known || (!looks && at.word != "settle" && !how))
        co_return refusal(404, "no_such_place", "see docs/txn-http.md for what can be asked");
    if (message.method != (looks ? "GET" : "POST")) {
        response refused = refusal(405, "wrong_method", looks ? "use GET" : "use POST");
        refused.headers.add("allow", looks ? "GET" : "POST");
        co_return refused;
    }
    if (!at.id)
        co_return co_await list(at.query);
    if (at.word.empty())
        co_return co_await show(*at.id);
    if (at.word == "outcome")
        co_return co_await say_outcome(*at.id);
    if (how)
        co_return co_await intervene(*at.id, *how, message.body);
    co_return co_await settle(*at.id, at.query);
}

asio::awaitable<response> control_answers::list(std::string_view query) {
    const auto wanted = read_query(query);
    if (!wanted)
        co_return refusal(
            400, "bad_query", "use filter=all|unfinished|stuck, after=NUMBER, limit=1..1000"
        );
    auto got = co_await of_.async_list(wanted->filter, wanted->after, wanted->limit, with_code);
    auto& [failed, found] = got;
    if (failed)
        co_return failure(failed);
    co_return json_response(200, list_json(found));
}

asio::awaitable<response> control_answers::show(gid gid) {
    auto got = co_await of_.async_show(gid, with_code);
    auto& [failed, found] = got;
    if (failed)
        co_return failure(failed);
    if (!found)
        co_return no_such_transaction();
    co_return json_response(200, view_json(*found));
}

asio::awaitable<response> control_answers::say_outcome(gid gid) {
    const auto found = co_await desk_.ask(gid);
    if (!found)
        co_return failure(found.error());
    co_return json_response(200, outcome_json(gid, *found));
}

asio::awaitable<response> control_answers::settle(gid gid, std::string_view query) {
    constexpr std::string_view name = "wait_ms=";
    auto wait = settle_max_;
    if (!query.empty()) {
        const auto most = static_cast<std::uint64_t>(settle_max_.count());
        const auto number = query.substr(0, name.size()) == name
                                ? decimal(query.substr(name.size()), most)
                                : std::nullopt;
        if (!number)
            co_return refusal(400, "bad_query", "use wait_ms=N, up to the server's settle_max");
        wait = std::chrono::milliseconds(*number);
    }
    const auto found = co_await desk_.settle(gid, *time_, wait);
    if (!found)
        co_return failure(found.error());
    co_return json_response(200, outcome_json(gid, *found));
}

asio::awaitable<response>
control_answers::intervene(gid gid, intervention::kind how, const std::string& body) {
    intervention wanted;
    std::string wrong;
    if (!read_intervention(body, wanted, wrong))
        co_return refusal(400, "bad_body", wrong);
    wanted.type = how;
    wanted.gid = gid;
    const auto got = co_await of_.async_intervene(std::move(wanted), with_code);
    if (const error_code failed = std::get<0>(got))
        co_return failure(failed);
    co_return co_await say_outcome(gid);
}

}  // namespace mortise::txn::http
