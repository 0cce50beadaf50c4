// SPDX-License-Identifier: BSL-1.0
// What people ask a store that is spread over a cluster.
#include "store/redis/bucket_views.hpp"

#include "store/redis/bucket_set.hpp"
#include "store/redis/call_round.hpp"
#include "store/redis/store_bucket.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace mortise::store_detail {
namespace {

constexpr std::size_t page_min = 16;
constexpr std::size_t page_max = 1'000;

// Names are spread evenly: with twice its share of the list a bucket is seldom asked twice.
std::size_t page_of(std::size_t buckets, std::size_t limit) {
    const std::size_t share = 2 * (limit / buckets);
    return std::min(limit, std::clamp(share, page_min, page_max));
}

}  // namespace

merged_list::merged_list(std::size_t buckets, const std::string& after, std::size_t limit)
    : limit_(limit), page_(page_of(buckets, limit)), parts_(buckets) {
    for (auto& each : parts_)
        each.after = after;
}

std::vector<std::size_t> merged_list::wanted() {
    std::vector<std::size_t> buckets;
    while (merged_.size() < limit_) {
        part* first = nullptr;
        for (std::size_t at = 0; at < parts_.size(); ++at) {
            part& each = parts_[at];
            if (each.read.empty()) {
                if (!each.is_over)
                    buckets.push_back(at);
            } else if (!first || each.read.front().name < first->read.front().name) {
                first = &each;
            }
        }
        if (!first || !buckets.empty())
            break;
        merged_.push_back(std::move(first->read.front()));
        first->read.pop_front();
    }
    return buckets;
}

void merged_list::add(std::size_t bucket, std::vector<lock_view> page) {
    part& to = parts_.at(bucket);
    to.is_over = page.size() < page_;
    if (!page.empty())
        to.after = page.back().name;
    std::move(page.begin(), page.end(), std::back_inserter(to.read));
}

std::vector<break_record>
merge_breaks(std::vector<std::vector<break_record>> parts, std::size_t limit) {
    std::vector<break_record> all;
    for (auto& each : parts) {
        std::vector<break_record> both;
        std::merge(
            std::make_move_iterator(all.begin()),
            std::make_move_iterator(all.end()),
            std::make_move_iterator(each.begin()),
            std::make_move_iterator(each.end()),
            std::back_inserter(both),
            [](const auto& a, const auto& b) { return a.at > b.at; }
        );
        both.resize(std::min(both.size(), limit));
        all = std::move(both);
    }
    return all;
}

std::vector<store_finding>
merge_examinations(std::vector<redis_examination> parts, std::size_t nodes) {
    std::uint64_t sessions = 0;
    std::uint64_t locks = 0;
    for (const auto& each : parts) {
        sessions += each.sessions;
        locks += each.locks;
    }
    std::vector<store_finding> all;
    for (auto& each : parts) {
        each.sessions = sessions;
        each.locks = locks;
        for (auto& found : each.findings()) {
            const auto same = std::find_if(all.begin(), all.end(), [&](const auto& other) {
                return other.subject == found.subject;
            });
            if (same == all.end())
                all.push_back(std::move(found));
            else if (found.judgement > same->judgement)
                *same = std::move(found);
        }
    }
    store_finding spread;
    spread.subject = "buckets";
    spread.found = "The locks lie in " + std::to_string(parts.size()) + " buckets at " +
                   std::to_string(nodes) + " nodes of the cluster.";
    all.push_back(std::move(spread));
    return all;
}

// The calls of the set

asio::awaitable<result<std::vector<lock_view>>>
bucket_set::list(std::string after, std::size_t limit, std::size_t queue_max) {
    const auto kept = shared_from_this();
    const auto used = cluster_.connections->keep();
    auto knowing = know(false);
    if (const auto failed = co_await std::move(knowing))
        co_return failed;
    merged_list merging(all_.size(), after, limit);
    for (auto wanted = merging.wanted(); !wanted.empty(); wanted = merging.wanted()) {
        std::vector<asio::awaitable<result<std::vector<lock_view>>>> calls;
        for (const auto each : wanted)
            calls.push_back(all_[each]->store->list(merging.after(each), merging.page(), queue_max)
            );
        auto listing = call_round<std::vector<lock_view>>::run(strand_, std::move(calls));
        auto pages = co_await std::move(listing);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (!pages[i])
                co_return noted(*all_[wanted[i]], pages[i].error());
            merging.add(wanted[i], std::move(*pages[i]));
        }
    }
    co_return merging.take();
}

asio::awaitable<result<std::optional<lock_view>>>
bucket_set::inspect(std::string name, std::size_t queue_max) {
    const auto kept = shared_from_this();
    const auto used = cluster_.connections->keep();
    auto knowing = know(false);
    if (const auto failed = co_await std::move(knowing))
        co_return failed;
    bucket& at = of(name);
    auto inspecting = at.store->inspect(std::move(name), queue_max);
    auto view = co_await std::move(inspecting);
    if (!view)
        co_return noted(at, view.error());
    co_return view;
}

asio::awaitable<result<bool>> bucket_set::break_(break_order order) {
    const auto kept = shared_from_this();
    const auto used = cluster_.connections->keep();
    auto knowing = know(false);
    if (const auto failed = co_await std::move(knowing))
        co_return failed;
    bucket& at = of(order.name);
    auto breaking = at.store->break_(std::move(order));
    const auto broken = co_await std::move(breaking);
    if (!broken)
        co_return noted(at, broken.error());
    co_return broken;
}

asio::awaitable<result<std::vector<break_record>>>
bucket_set::breaks(std::string name, std::size_t limit) {
    const auto kept = shared_from_this();
    const auto used = cluster_.connections->keep();
    auto knowing = know(false);
    if (const auto failed = co_await std::move(knowing))
        co_return failed;
    std::vector<asio::awaitable<result<std::vector<break_record>>>> calls;
    for (const auto& each : all_) {
        if (name.empty() || each->number == number_of(name))
            calls.push_back(each->store->breaks(name, limit));
    }
    auto asking = call_round<std::vector<break_record>>::run(strand_, std::move(calls));
    auto answers = co_await std::move(asking);
    std::vector<std::vector<break_record>> parts;
    for (auto& each : answers) {
        if (!each)
            co_return each.error();
        parts.push_back(std::move(*each));
    }
    co_return merge_breaks(std::move(parts), limit);
}

asio::awaitable<error_code> bucket_set::watch() {
    const auto kept = shared_from_this();
    const auto used = cluster_.connections->keep();
    if (!watch_) {
        std::vector<change_watch::place> places;
        for (const auto& each : all_) {
            const store_keys keys(buckets_.tag(each->number));
            places.emplace_back(keys, wires_to(keys.of("s"), false));
        }
        watch_ = std::make_shared<change_watch>(
            strand_,
            time_,
            connect_max_,
            std::move(places),
            [weak = weak_from_this()] {
                store_event event;
                event.type = store_event::kind::changed;
                if (const auto self = weak.lock(); self && self->events_)
                    self->events_->on_store_event(event);
            }
        );
    }
    cluster_.connections->gather(strand_);
    auto watching = watch_->begin();
    co_return co_await std::move(watching);
}

asio::awaitable<result<std::vector<store_finding>>> bucket_set::examine() {
    const auto kept = shared_from_this();
    const auto used = cluster_.connections->keep();
    auto knowing = know(false);
    if (const auto failed = co_await std::move(knowing))
        co_return failed;
    std::vector<asio::awaitable<result<redis_examination>>> calls;
    for (const auto& each : all_)
        calls.push_back(each->store->examination());
    auto asking = call_round<redis_examination>::run(strand_, std::move(calls));
    auto answers = co_await std::move(asking);
    std::vector<redis_examination> parts;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (!answers[i])
            co_return noted(*all_[i], answers[i].error());
        parts.push_back(std::move(*answers[i]));
    }
    co_return merge_examinations(std::move(parts), cluster_.connections->size());
}

}  // namespace mortise::store_detail
