// SPDX-License-Identifier: BSL-1.0
#include "base/name_lookup.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <tuple>
#include <utility>

namespace mortise::detail {

using asio::ip::tcp;

struct name_lookup::query {
    explicit query(const asio::any_io_executor& on) : executor(on), resolver(on), done(on) {}

    const asio::any_io_executor executor;
    tcp::resolver resolver;
    coro::event done;
    bool given_up = false;
    error_code failed;
    std::vector<asio::ip::address> found;
};

name_lookup::name_lookup(const asio::any_io_executor& executor)
    : query_(std::make_shared<query>(executor)) {}

name_lookup::~name_lookup() = default;

void name_lookup::give_up() noexcept {
    query_->given_up = true;
    query_->resolver.cancel();
    query_->done.close();
}

asio::awaitable<result<std::vector<asio::ip::address>>>
name_lookup::find(std::string host, clock::duration limit) {
    const auto asked = query_;
    error_code no_address;
    const auto given = asio::ip::make_address(host, no_address);
    if (!no_address)
        co_return std::vector<asio::ip::address>(1, given);
    asked->resolver.async_resolve(
        host,
        "",
        asio::ip::resolver_base::address_configured,
        asio::bind_executor(
            asked->executor,
            [asked](const error_code& failed, const tcp::resolver::results_type& results) {
                asked->failed = failed;
                for (const auto& each : results)
                    asked->found.push_back(each.endpoint().address());
                asked->done.set();
            }
        )
    );
    auto waiting = asked->done.async_wait(asio::cancel_after(limit, coro::detail::with_code));
    const auto waited = co_await std::move(waiting);
    if (asked->given_up)
        co_return error_code(asio::error::operation_aborted);
    if (std::get<0>(waited)) {
        asked->resolver.cancel();
        co_return error_code(asio::error::timed_out);
    }
    if (asked->failed)
        co_return asked->failed;
    co_return std::move(asked->found);
}

}  // namespace mortise::detail
