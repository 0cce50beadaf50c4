// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/http_participant.hpp"

#include "client/channel.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/txn/error.hpp"
#include "wire/call_messages.hpp"
#include "wire/fields.hpp"

#include <boost/system/system_error.hpp>

#include <utility>

namespace mortise::txn {
namespace {

using coro::detail::with_code;
constexpr std::size_t text_max = 1'024;

// Keeps the channel, because the participant may be destroyed meanwhile.
asio::awaitable<result<reply>> ask(std::shared_ptr<http::channel> to, call call) {
    const std::string id = http::call_id(call);
    auto exchange = co_await to->async_exchange(http::to_request(call, to->at()), with_code);
    auto& [failed, got] = exchange;
    if (failed && !got.body.empty())
        throw boost::system::system_error(failed, got.body);
    if (failed)
        co_return failed;
    // The text in our own server's response 500 is for people, and is not an answer.
    std::string text;
    if (got.status == 500 && got.headers.one(http::fields::call) == id)
        text = to->without_secrets(std::move(got.body)).substr(0, text_max);
    auto answer = http::read_answer(std::move(got), id);
    if (!answer && !text.empty() && answer.error() == errc::call_failed)
        throw boost::system::system_error(answer.error(), text);
    co_return answer;
}

}  // namespace

http_participant::http_participant(executor_type executor, http_client_config config)
    : to_(std::make_shared<http::channel>(std::move(executor), std::move(config))) {
    to_->attach();
}

http_participant::~http_participant() {
    to_->close();
}

asio::awaitable<result<reply>> http_participant::carry_out(call call) {
    return ask(to_, std::move(call));
}

std::size_t http_participant::calls_at_once() const noexcept {
    return to_->connections_max();
}

}  // namespace mortise::txn
