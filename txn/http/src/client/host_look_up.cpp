// SPDX-License-Identifier: BSL-1.0
#include "client/host_look_up.hpp"

#include <boost/asio/io_context.hpp>

namespace mortise::txn::http {
namespace {

coro::worker_config one_thread() {
    coro::worker_config made;
    made.name = "mortise-names";
    made.queue_max = 1;
    made.grace = std::chrono::milliseconds(50);  // a look-up that has not ended cannot be stopped
    return made;
}

}  // namespace

host_look_up::host_look_up(const asio::any_io_executor& strand)
    : ready(strand), thread(strand, one_thread()) {}

result<host_look_up::endpoints> host_look_up::resolve(const std::string& host, std::uint16_t port) {
    asio::io_context nobody_runs(1);
    asio::ip::tcp::resolver resolver(nobody_runs);
    error_code failed;
    const auto all = resolver.resolve(
        host, std::to_string(port), asio::ip::tcp::resolver::numeric_service, failed
    );
    if (failed)
        return failed;
    endpoints found;
    for (const auto& each : all)
        found.push_back(each.endpoint());
    return found;
}

}  // namespace mortise::txn::http
