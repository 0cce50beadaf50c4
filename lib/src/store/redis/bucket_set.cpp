// SPDX-License-Identifier: BSL-1.0
// The sessions and the locks of a store that is spread over a cluster.
#include "store/redis/bucket_set.hpp"

#include "store/redis/call_round.hpp"
#include "store/redis/store_bucket.hpp"
#include "store/redis/store_keys.hpp"

#include <algorithm>

namespace mortise::store_detail {
namespace {

void set_number(session_view& view, proof_number number) {
    for (session_entry& entry : view.entries)
        entry.number = number;
}

}  // namespace

bucket_set::bucket_set(const redis_store_config& config, link_settings settings, wire_settings node)
    : buckets_(settings.prefix, config.buckets),
      connect_max_(config.connect_max),
      cluster_([&] {
          cluster_settings all;
          all.node = std::move(node);
          all.known = std::make_shared<cluster_nodes>(config.cluster);
          all.connections = std::make_shared<node_connections>();
          return all;
      }()),
      confirming_(config.min_replicas == 0 ? nullptr : std::make_shared<node_connections>()),
      record_(
          store_keys(settings.prefix).of("id"),
          config.buckets,
          config.domain,
          wires_to(store_keys(settings.prefix).of("id"), false)
      ) {
    settings.common_domain = domain_;
    settings.parts = config.buckets;
    for (proof_number number = 0; number < buckets_.count(); ++number) {
        auto own = settings;
        own.prefix = buckets_.tag(number);
        const std::string key = store_keys(own.prefix).of("s");
        if (confirming_)
            own.confirming_wires = wires_to(key, true);
        all_.push_back(std::make_unique<bucket>(
            number, make_queue_store(config, std::move(own), wires_to(key, false))
        ));
    }
}

bucket_set::~bucket_set() = default;

redis_wire_factory bucket_set::wires_to(const std::string& key, bool confirming) const {
    auto settings = cluster_;
    settings.key = key;
    if (confirming)
        settings.connections = confirming_;
    return [settings = std::move(settings)](const asio::any_io_executor& strand) {
        return make_cluster_wire(strand, settings);
    };
}

// Locks of several buckets are asked for one by one: no script reaches two slots. The tokens are
// worth what the weakest server makes of them.
store_traits bucket_set::traits() const noexcept {
    auto traits = all_.front()->store->traits();
    for (const auto& each : all_) {
        if (each->begun)
            traits.strength = std::min(traits.strength, each->store->traits().strength);
    }
    traits.request_in_order = false;
    return traits;
}

void bucket_set::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    strand_ = std::move(strand);
    events_ = &events;
    time_ = std::move(time);
    record_.attach(strand_, time_);
    for (const auto& each : all_)
        each->attach(strand_, events, time_);
}

void bucket_set::detach() noexcept {
    events_ = nullptr;
    for (const auto& each : all_)
        each->store->detach();
    if (process_.forked())
        return;
    if (const auto watch = std::exchange(watch_, nullptr))
        watch->close();
    // Whoever still waits for an answer keeps what it waits for.
    cluster_.connections->end_all();
    if (confirming_)
        confirming_->end_all();
}

error_code bucket_set::noted(const bucket& where, const error_code& why) noexcept {
    failed_ = where.number;
    return why;
}

asio::awaitable<error_code> bucket_set::know(bool create) {
    if (known_)
        co_return error_code();
    const auto kept = shared_from_this();
    auto reading = record_.read(create, connect_max_);
    const auto record = co_await std::move(reading);
    const auto& failure = record.failure;
    const std::lock_guard guard(failure_mutex_);
    failure_.clear();
    if (failure.code)
        failure_ = failure.text + "; " + std::string(redis_remedy(failure));
    if (failure.code == errc::bad_config)
        failure_ = failure.text;  // It says what to do.
    known_ = record.found;
    if (known_)
        *domain_ = record.domain;
    co_return failure.code;
}

// The record may be gone, with the memory of its node, while buckets are there: each of them has
// the number of buckets, too, and its own domain.
asio::awaitable<result<resumed>> bucket_set::resume(session_start start) {
    const auto kept = shared_from_this();
    const auto used = cluster_.connections->keep();
    const auto ends = ends_;
    auto knowing = know(true);
    if (const auto failed = co_await std::move(knowing))
        co_return failed;
    if (ends != ends_ || !events_)
        co_return error_code(errc::store_unavailable);  // It would outlive the end.
    bucket& to = at(start.number);
    to.begun = true;
    auto resuming = to.store->resume(std::move(start));
    auto reply = co_await std::move(resuming);
    if (!reply)
        co_return noted(to, reply.error());
    set_number(reply->view, to.number);
    co_return reply;
}

asio::awaitable<error_code> bucket_set::end() {
    const auto kept = shared_from_this();
    const auto used = cluster_.connections->keep();
    ++ends_;
    if (const auto watch = std::exchange(watch_, nullptr)) {
        auto ending = watch->end();
        co_await std::move(ending);
    }
    std::vector<asio::awaitable<result<bool>>> calls;
    for (const auto& each : all_) {
        if (each->begun)
            calls.push_back(end_of(kept, *each));
    }
    auto ending = call_round<bool>::run(strand_, std::move(calls));
    const auto answers = co_await std::move(ending);
    error_code failed;
    for (const auto& each : answers) {
        if (!each && each.error() != errc::session_lost)
            failed = each.error();
    }
    co_return failed;
}

asio::awaitable<result<bool>>
bucket_set::end_of([[maybe_unused]] std::shared_ptr<bucket_set> self, bucket& at) {
    auto ending = at.store->end();
    if (const auto failed = co_await std::move(ending))
        co_return noted(at, failed);
    co_return true;
}

// The heartbeats of one moment travel together, one write for each node.
asio::awaitable<result<heartbeat>> bucket_set::beat(proof_number number) {
    const auto kept = shared_from_this();
    bucket& of = at(number);
    cluster_.connections->gather(strand_);
    if (number == 0 && watch_)
        watch_->compare();
    auto beating = of.store->beat(0);
    const auto reply = co_await std::move(beating);
    if (!reply)
        co_return noted(of, reply.error());
    co_return reply;
}

asio::awaitable<result<session_view>> bucket_set::look(proof_number number) {
    const auto kept = shared_from_this();
    bucket& of = at(number);
    auto looking = of.store->look(0);
    auto view = co_await std::move(looking);
    if (!view)
        co_return noted(of, view.error());
    set_number(*view, number);
    co_return view;
}

asio::awaitable<result<answer>> bucket_set::request(lock_request request) {
    const auto kept = shared_from_this();
    bucket& to = of(request.name);
    auto asking = to.store->request(std::move(request));
    auto reply = co_await std::move(asking);
    if (!reply)
        co_return noted(to, reply.error());
    reply->number = to.number;
    co_return reply;
}

asio::awaitable<released_and_asked>
bucket_set::release_and_request(grant held, lock_request request) {
    const auto kept = shared_from_this();
    bucket& to = of(held.name);
    auto asking = to.store->release_and_request(std::move(held), std::move(request));
    auto both = co_await std::move(asking);
    if (both.asked)
        both.asked->number = to.number;
    else
        noted(to, both.asked.error());
    co_return both;
}

asio::awaitable<error_code> bucket_set::withdraw(std::string name, request_id id) {
    const auto kept = shared_from_this();
    bucket& to = of(name);
    auto withdrawing = to.store->withdraw(std::move(name), id);
    const auto failed = co_await std::move(withdrawing);
    co_return failed ? noted(to, failed) : failed;
}

asio::awaitable<result<bool>> bucket_set::release(grant held) {
    const auto kept = shared_from_this();
    bucket& to = of(held.name);
    auto releasing = to.store->release(std::move(held));
    const auto reply = co_await std::move(releasing);
    if (!reply)
        noted(to, reply.error());
    co_return reply;
}

asio::awaitable<result<token_range>> bucket_set::draw(grant held) {
    const auto kept = shared_from_this();
    bucket& to = of(held.name);
    auto drawing = to.store->draw(std::move(held));
    const auto reply = co_await std::move(drawing);
    if (!reply)
        noted(to, reply.error());
    co_return reply;
}

asio::awaitable<result<std::chrono::milliseconds>>
bucket_set::extend(grant held, std::chrono::milliseconds hold_max) {
    const auto kept = shared_from_this();
    bucket& to = of(held.name);
    auto extending = to.store->extend(std::move(held), hold_max);
    const auto reply = co_await std::move(extending);
    if (!reply)
        noted(to, reply.error());
    co_return reply;
}

// What is wrong with the record, or else what was wrong with the bucket that failed last.
std::string bucket_set::explain() const {
    {
        const std::lock_guard guard(failure_mutex_);
        if (!failure_.empty())
            return failure_;
    }
    std::string text = at(failed_).store->explain();
    for (const auto& each : all_) {
        if (!text.empty())
            break;
        text = each->store->explain();
    }
    return text;
}

}  // namespace mortise::store_detail
