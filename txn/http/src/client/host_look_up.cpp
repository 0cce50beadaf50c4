// SPDX-License-Identifier: BSL-1.0
#include "client/host_look_up.hpp"

#include "mortise/coro/event.hpp"
#include "mortise/coro/worker.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <tuple>
#include <utility>

namespace mortise::txn::http {
namespace {

using boost::system::system_error;
using std::chrono::milliseconds;

constexpr milliseconds patience_with_known_addresses{250};

coro::worker_config one_thread() {
    coro::worker_config config;
    config.name = "mortise-names";
    config.queue_max = 1;
    config.grace = milliseconds(50);  // a look-up that has not ended cannot be stopped
    return config;
}

// Blocks. @return at least one address, or an error.
result<host_look_up::endpoints> resolve(const std::string& host, std::uint16_t port) {
    asio::io_context nobody_runs(1);
    asio::ip::tcp::resolver resolver(nobody_runs);
    error_code failed;
    const auto all = resolver.resolve(
        host, std::to_string(port), asio::ip::tcp::resolver::numeric_service, failed
    );
    if (failed)
        return failed;
    host_look_up::endpoints found;
    for (const auto& each : all)
        found.push_back(each.endpoint());
    return found;
}

}  // namespace

struct host_look_up::look_up {
    explicit look_up(const asio::any_io_executor& strand)
        : ready(strand), thread(strand, one_thread()) {}

    coro::event ready;
    error_code failed;
    coro::worker thread;
};

host_look_up::host_look_up(std::string host, std::uint16_t port)
    : host_(std::move(host)), port_(port) {}

host_look_up::~host_look_up() = default;

// Starts a look-up, or joins the one under way: there is one at a time.
std::shared_ptr<host_look_up::look_up> host_look_up::join(const asio::any_io_executor& strand) {
    if (under_way_)
        return under_way_;
    const auto started = std::make_shared<look_up>(strand);
    auto work = [host = host_, port = port_] { return resolve(host, port); };
    started->thread.async_run(
        std::move(work),
        asio::bind_executor(
            strand,
            [self = shared_from_this(),
             started](error_code failed, const result<endpoints>& found) {
                self->under_way_.reset();
                started->failed = failed || found ? failed : found.error();
                if (!started->failed)
                    self->known_ = *found;
                started->ready.set();
            }
        )
    );
    under_way_ = started;
    return started;
}

asio::awaitable<host_look_up::endpoints> host_look_up::find(const asio::any_io_executor& strand) {
    error_code no_address;
    const auto address = asio::ip::make_address(host_, no_address);
    if (!no_address) {
        endpoints only;
        only.emplace_back(address, port_);
        co_return only;
    }
    const auto under_way = join(strand);
    // An hour is as good as no limit: the call has a limit of its own.
    const auto patience =
        known_.empty() ? milliseconds(std::chrono::hours(1)) : patience_with_known_addresses;
    const auto outcome = co_await under_way->ready.async_wait(
        asio::cancel_after(patience, asio::as_tuple(asio::deferred))
    );
    const auto cancelled = co_await asio::this_coro::cancellation_state;
    if (cancelled.cancelled() != asio::cancellation_type::none)
        throw system_error(asio::error::operation_aborted);
    const bool ended = !std::get<0>(outcome);
    if (ended && under_way->failed && known_.empty())
        throw system_error(under_way->failed);
    if (known_.empty())
        throw system_error(asio::error::timed_out);
    co_return known_;
}

}  // namespace mortise::txn::http
