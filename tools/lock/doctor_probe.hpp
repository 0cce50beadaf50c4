// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_DOCTOR_PROBE_HPP
#define MORTISE_TOOLS_LOCK_DOCTOR_PROBE_HPP

#include "lock/doctor_report.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/lock_observer.hpp"
#include "mortise/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {

/// Measures a store with two clients, on a lock that only the probe uses.
///
/// @par Threads One: that of the clients' context.
class doctor_probe final : private lock_observer {
public:
    /// Creates the two clients. Calls `make` once for each.
    template <class Make>
    doctor_probe(
        asio::any_io_executor executor, std::shared_ptr<coro::time_source> time, const Make& make
    )
        : time_(std::move(time)),
          ttl_(ttl_for(make()->traits())),
          first_(executor, make(), config()),
          second_(executor, make(), config()) {}

    /// Examines and measures the store. A step that fails becomes a finding; only a cancellation
    /// throws.
    asio::awaitable<void> examine(doctor_report& report);

    /// Releases all locks and withdraws all requests.
    asio::awaitable<void> stop();

private:
    void on_event(const lock_event& event) noexcept override;

    client_config config();
    static std::chrono::milliseconds ttl_for(const store_traits& traits);
    asio::awaitable<error_code> open();
    asio::awaitable<void> ask_store(doctor_report& report, error_code unopened);
    asio::awaitable<void> measure(doctor_report& report);
    asio::awaitable<void> measure_cycles(doctor_report& report);
    asio::awaitable<void> measure_pushes(doctor_report& report);
    asio::awaitable<clock::duration> push_once();
    asio::awaitable<void> receive(clock::time_point& at);
    asio::awaitable<void> await_queued();
    asio::awaitable<void> measure_heartbeats(doctor_report& report);

    std::shared_ptr<coro::time_source> time_;
    std::chrono::milliseconds ttl_;
    std::string name_ = "mortise-doctor-" + random_id::draw().text();
    std::vector<clock::duration> beats_;
    lock_client first_;
    lock_client second_;
};

}  // namespace mortise::tool

#endif
