// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/strand_seat.hpp"

#include "mortise/coro/detail/untracked_executor.hpp"

#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>

#include <utility>

namespace mortise::coro::detail {
namespace {

asio::any_io_executor strand_of(const asio::any_io_executor& executor, strand_seat::work how) {
    asio::any_io_executor strand = asio::make_strand(executor);
    if (how == strand_seat::work::counted)
        return strand;
    return untracked_executor(std::move(strand));
}

}  // namespace

strand_seat::strand_seat(asio::any_io_executor executor, work how)
    : executor_(std::move(executor)), strand_(strand_of(executor_, how)) {}

bool strand_seat::take(const std::shared_ptr<shutdown_hook>& who) {
    auto& service = wait_service::of(asio::query(executor_, asio::execution::context));
    ended_ = service.ended();
    return service.link(who);
}

}  // namespace mortise::coro::detail
