// SPDX-License-Identifier: BSL-1.0
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/signal_source.hpp"
#include "common/with_store.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/db/read_only.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "mortise/outbox/operate.hpp"
#include "mortise/outbox/relay.hpp"
#include "outbox/database_work.hpp"
#include "outbox/kafka_target.hpp"
#include "outbox/outbox_command.hpp"
#include "outbox/outbox_report.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

/// Whether everything is sent, or the error that ended the wait for that.
class emptiness {
public:
    explicit emptiness(const asio::any_io_executor& executor) : found(executor) {}

    coro::event found;
    error_code code;
};

outbox::sink_factory sink_of(const outbox_settings& settings) {
    if (!settings.kafka.servers.empty())
        return kafka_target(settings.kafka);
    return outbox::make_file_sink(
        settings.folder,
        {.file_bytes = settings.file_bytes,
         .files_kept = static_cast<std::size_t>(settings.files_kept)}
    );
}

outbox::relay_config config_for(
    const global_settings& global,
    const outbox_settings& settings,
    std::shared_ptr<lock_client> locks,
    std::ostream& out
) {
    outbox::relay_config config;
    config.database = settings.database;
    config.sink = sink_of(settings);
    config.locks = std::move(locks);
    config.observer = [&out, as_json = global.json](const outbox::relay_event& event) {
        if (event.type == outbox::relay_event::kind::sent)
            return;  // it comes with each batch: too many lines
        const auto now = std::chrono::system_clock::now();
        if (as_json)
            out << json::serialize(event_json(event, now)) << '\n';
        else
            out << event_text(event, now) << '\n';
        out.flush();  // a reader must see each event at once
    };
    return config;
}

void tell_sum(std::ostream& out, bool as_json, const std::vector<outbox::shard_status>& shards) {
    std::uint64_t messages = 0;
    std::uint64_t parked = 0;
    for (const auto& each : shards) {
        messages += each.messages;
        parked += each.parked;
    }
    if (!as_json) {
        out << messages << " sent, " << parked << " parked\n";
        return;
    }
    json::object fields;
    fields["event"] = "empty";
    fields["messages"] = messages;
    fields["parked"] = parked;
    out << json::serialize(fields) << '\n';
}

/// Sends until it is cancelled or, if wanted, until no row is left.
asio::awaitable<int> send_all(
    outbox::relay& relay,
    const global_settings& global,
    const outbox_settings& settings,
    std::ostream& out
) {
    const auto empty = std::make_shared<emptiness>(co_await asio::this_coro::executor);
    if (settings.until_empty) {
        relay.async_drained([empty](error_code code) {
            empty->code = code;
            empty->found.set();
        });
    }
    auto waiting = empty->found.async_wait(coro::detail::with_code);
    const auto [cancelled] = co_await std::move(waiting);
    // Let the sending that is under way end in good order, even after a cancellation.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    auto stopping = relay.async_stop(coro::detail::with_code);
    co_await std::move(stopping);
    if (cancelled)
        co_return exit_code::success;  // the one that cancelled picks the exit code
    if (empty->code)
        throw boost::system::system_error(empty->code);
    // Only now, as the last batch is counted after its rows have left the table.
    tell_sum(out, global.json, relay.status());
    co_return exit_code::success;
}

asio::awaitable<int> relay_until_signalled(
    signal_source& signals,
    std::shared_ptr<lock_client> locks,
    const global_settings& global,
    const outbox_settings& settings,
    std::ostream& out
) {
    const auto executor = co_await asio::this_coro::executor;
    const std::function<void(int)> on_other;
    try {
        outbox::relay relay(executor, config_for(global, settings, std::move(locks), out));
        auto body = send_all(relay, global, settings, out);
        auto sending = until_signalled(signals, std::move(body), on_other);
        co_return co_await std::move(sending);
    } catch (const boost::system::system_error& thrown) {
        throw database_failure(thrown, settings.database);
    }
}

std::shared_ptr<lock_client>
locks_for(const global_settings& global, const asio::any_io_executor& executor) {
    if (global.store.empty())
        return nullptr;
    client_config config;
    config.label = "outbox relay";
    return std::make_shared<lock_client>(executor, open_store(global.store), std::move(config));
}

}  // namespace

void require_outbox(const std::string& database) {
    db::read_only looked(database);
    looked.ask([](db::connection& on) { return outbox::list(on, outbox::row_kind::parked, 0, 1); });
}

int relay_messages(
    const global_settings& global, const outbox_settings& settings, std::ostream& out
) {
    try {
        require_outbox(settings.database);
    } catch (const boost::system::system_error& thrown) {
        throw database_failure(thrown, settings.database);
    }
    asio::io_context context(1);
    signal_source signals(context.get_executor());  // must come before anything that starts threads
    const auto locks = locks_for(global, context.get_executor());
    const auto work = [&] { return relay_until_signalled(signals, locks, global, settings, out); };
    if (!locks)
        return await_main(context, work());
    return await_main(context, work_and_stop(*locks, [&](lock_client&) { return work(); }));
}

}  // namespace mortise::tool
