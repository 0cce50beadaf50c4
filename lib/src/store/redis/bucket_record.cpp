// SPDX-License-Identifier: BSL-1.0
#include "store/redis/bucket_record.hpp"

#include "mortise/store_types.hpp"
#include "store/redis/redis_scripts.hpp"

#include <utility>

namespace mortise::store_detail {
namespace {

redis_failure refusal(std::string text) {
    return {errc::bad_config, std::move(text)};
}

}  // namespace

recorded_store parse_record(const redis_value& reply, unsigned count) {
    recorded_store record;
    if (reply.type == redis_value::kind::error) {
        record.failure = {meaning_of_refusal(reply.text), reply.text};
        return record;
    }
    const std::string kind = reply.items.empty() ? std::string() : reply.items[0].text;
    const std::string word = reply.items.size() < 2 ? std::string() : reply.items[1].text;
    if (kind == "o" && !word.empty()) {
        record.found = true;
        record.domain = word;
    } else if (kind == "c") {
        record.failure = refusal(
            "the store has " + word + " buckets, and " + std::to_string(count) +
            " are named here: say buckets=" + word
        );
    } else if (kind == "s") {
        record.failure = refusal(
            "the store lies in one slot of the cluster: say buckets=1, or give this one another "
            "prefix"
        );
    } else if (kind == "d") {
        record.failure = refusal("the store has the domain \"" + word + "\": name it, or none");
    } else if (kind == "f") {
        record.failure = {errc::newer_format, "the store has the format \"" + word + '"'};
    } else if (kind != "m") {
        record.failure = {errc::store_corrupt, "the record of the store"};
    }
    return record;
}

bucket_record::bucket_record(
    std::string key, unsigned count, std::string domain, redis_wire_factory wires
)
    : key_(std::move(key)), count_(count), domain_(std::move(domain)), wires_(std::move(wires)) {}

void bucket_record::attach(asio::any_io_executor strand, std::shared_ptr<coro::time_source> time) {
    strand_ = std::move(strand);
    time_ = std::move(time);
}

asio::awaitable<recorded_store> bucket_record::read(bool create, std::chrono::milliseconds limit) {
    recorded_store record;
    const auto wire = wires_(strand_);
    coro::detail::alarm late;
    const auto due = coro::saturating_add(time_->now(), limit);
    late.set(*time_, strand_, due, [limit, weak = std::weak_ptr(wire)] {
        if (const auto silent = weak.lock())
            silent->abandon(limit);
    });
    auto opening = wire->open(deaf_);
    record.failure = co_await std::move(opening);
    if (record.failure.code)
        co_return record;
    redis_command command;
    command.push_back("EVAL");
    command.push_back(redis_scripts::shared()[redis_script::bucket_record].text);
    command.push_back("1");
    command.push_back(key_);
    command.push_back(std::to_string(count_));
    command.push_back(create ? "1" : "0");
    command.push_back(random_id::draw().text());
    command.push_back(domain_);
    auto asking = wire->call(std::move(command));
    const auto reply = co_await std::move(asking);
    wire->close();
    if (!reply) {
        record.failure = {reply.error(), "the record of the store: no answer"};
        co_return record;
    }
    co_return parse_record(*reply, count_);
}

}  // namespace mortise::store_detail
