// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/strand_seat.hpp"

#include "mortise/coro/detail/untracked_executor.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>

#include <utility>

namespace mortise::coro::detail {
namespace {

// Makes the strand on the plain executor if it is of the usual type: a strand on the erased type
// erases twice, and every step of a connection goes through the strand.
asio::any_io_executor plain_strand_of(const asio::any_io_executor& executor) {
    if (const auto* plain = executor.target<asio::io_context::executor_type>())
        return asio::make_strand(*plain);
    return asio::make_strand(executor);
}

asio::any_io_executor strand_of(const asio::any_io_executor& executor, strand_seat::work how) {
    asio::any_io_executor strand = plain_strand_of(executor);
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
