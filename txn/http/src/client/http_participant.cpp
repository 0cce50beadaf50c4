// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/http_participant.hpp"

#include "client/channel.hpp"
#include "wire/answers.hpp"
#include "wire/call_headers.hpp"

#include <boost/asio/as_tuple.hpp>

#include <utility>

namespace mortise::txn {
namespace {

// The object may be destroyed meanwhile; what it calls by is kept.
asio::awaitable<result<reply>> ask(std::shared_ptr<http::channel> to, call what) {
    const std::string id = http::call_id(what);
    auto asking =
        to->async_exchange(http::to_request(what, to->at()), asio::as_tuple(asio::deferred));
    auto came = co_await std::move(asking);
    auto& [failed, got] = came;
    if (failed)
        co_return failed;
    co_return http::read_answer(std::move(got), id);
}

}  // namespace

http_participant::http_participant(executor_type executor, http_client_config config)
    : to_(std::make_shared<http::channel>(std::move(executor), std::move(config))) {
    to_->attach();
}

http_participant::~http_participant() {
    to_->close();
}

asio::awaitable<result<reply>> http_participant::carry_out(call what) {
    return ask(to_, std::move(what));
}

}  // namespace mortise::txn
