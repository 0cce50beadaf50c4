// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/node_calls.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

script_call give_back(const node_link& node, const request_at_node& request, const char* kind) {
    std::vector<std::string> arguments;
    arguments.push_back(request.key.owner);
    arguments.push_back(std::to_string(request.key.id));
    arguments.push_back(std::to_string(request.guess));
    arguments.push_back(kind);
    arguments.push_back(request.lock);
    return {
        redis_script::redlock_free,
        node.keys().at_lock(node.session_name(), request.lock),
        std::move(arguments)};
}

}  // namespace

script_call ask_call(const node_link& node, const request_at_node& request) {
    std::vector<std::string> arguments;
    arguments.push_back(request.key.owner);
    arguments.push_back(std::to_string(request.key.id));
    arguments.push_back(std::to_string(request.guess));
    arguments.push_back(std::to_string(request.key.at));
    arguments.push_back(request.joins ? "1" : "0");
    arguments.push_back(request.lock);
    return {
        redis_script::redlock_ask,
        node.keys().at_lock(node.session_name(), request.lock),
        std::move(arguments)};
}

script_call yield_call(const node_link& node, const request_at_node& request) {
    return give_back(node, request, "y");
}

script_call free_call(const node_link& node, const request_at_node& request) {
    return give_back(node, request, "w");
}

script_call draw_call(const node_link& node, const request_at_node& held, std::uint64_t guess) {
    std::vector<std::string> arguments;
    arguments.push_back(held.key.owner);
    arguments.push_back(std::to_string(held.key.id));
    arguments.push_back(std::to_string(held.guess));
    arguments.push_back(std::to_string(guess));
    arguments.push_back(held.lock);
    auto keys = node.keys().common();
    keys.push_back(node.keys().vote(held.lock));
    return {redis_script::redlock_draw, std::move(keys), std::move(arguments)};
}

script_call check_call(const node_link& node, const std::vector<request_at_node>& held) {
    auto keys = node.keys().common();
    std::vector<std::string> arguments;
    arguments.push_back(held.front().key.owner);
    for (const auto& each : held) {
        node.keys().add_lock(keys, each.lock);
        arguments.push_back(std::to_string(each.key.id));
        arguments.push_back(std::to_string(each.guess));
    }
    return {redis_script::redlock_check, std::move(keys), std::move(arguments)};
}

asio::awaitable<result<std::uint64_t>> draw_base(
    std::shared_ptr<node_group> nodes, request_at_node held, std::vector<std::size_t> voters
) {
    const auto drawing = std::make_shared<ballot>(nodes->size(), held.key, false);
    auto next = ballot::verdict::again;
    while (next == ballot::verdict::again) {
        drawing->begin(std::max(nodes->latest_time(), held.guess));
        const auto round = nodes->make_round();
        for (const std::size_t node : voters) {
            if (!nodes->reaches(node))
                continue;
            const auto take = [drawing, node, guess = drawing->guess()](const auto& reply) {
                auto timed = reply ? parse_ballot_answer(*reply) : reply.error();
                if (timed)
                    drawing->answered(node, guess, std::move(timed->answer));
            };
            auto drawn = draw_call(nodes->node(node), held, drawing->guess());
            nodes->call(round, node, std::move(drawn), take);
        }
        auto waiting = round->wait([drawing] { return drawing->is_decided(); });
        co_await std::move(waiting);
        next = drawing->judge();
    }
    if (next == ballot::verdict::refused)
        co_return error_code(errc::lease_lost);
    if (next != ballot::verdict::granted)
        co_return error_code(errc::outcome_unknown);
    co_return drawing->guess();
}

void check_votes(
    node_group& nodes,
    const node_group::round_ptr& round,
    std::size_t node,
    const std::vector<request_at_node>& held,
    const std::function<void(const request_at_node&, checked_votes::vote)>& tell
) {
    constexpr std::size_t portion = 64;
    for (std::size_t from = 0; from < held.size(); from += portion) {
        const auto begin = held.begin() + static_cast<std::ptrdiff_t>(from);
        const auto end = std::min(from + portion, held.size());
        const std::vector<request_at_node> some(
            begin, held.begin() + static_cast<std::ptrdiff_t>(end)
        );
        const auto take = [some, tell](const result<redis_value>& reply) {
            const auto checked =
                reply ? parse_checked(*reply, some.size()) : result<checked_votes>(reply.error());
            for (std::size_t at = 0; checked && at < some.size(); ++at)
                tell(some[at], checked->votes[at]);
        };
        nodes.call(round, node, check_call(nodes.node(node), some), take);
    }
}

}  // namespace mortise::store_detail
