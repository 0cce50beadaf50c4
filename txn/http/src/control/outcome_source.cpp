// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/outcome_source.hpp"

#include "client/channel.hpp"
#include "control/control_json.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/txn/error.hpp"
#include "wire/fields.hpp"

#include <utility>

namespace mortise::txn {
namespace {

using coro::detail::with_code;
// By then the coordinator has been told. The sweeper sees the end at the reservation itself.
constexpr std::chrono::milliseconds wait_max{200};

class remote_source final : public outcome_source {
public:
    remote_source(asio::any_io_executor executor, http_client_config at)
        : to_(std::make_shared<http::channel>(std::move(executor), std::move(at))) {
        to_->attach();
    }
    ~remote_source() override { to_->close(); }

    asio::awaitable<result<standing>> settle(gid gid) override { return ask(to_, gid); }

private:
    static asio::awaitable<result<standing>> ask(std::shared_ptr<http::channel> to, gid gid) {
        http::request request;
        request.method = "POST";
        request.target = to->at().path + "/txn/" + gid.text() +
                         "/settle?wait_ms=" + std::to_string(wait_max.count());
        request.headers.add(http::fields::host, to->at().authority);
        auto exchange = co_await to->async_exchange(std::move(request), with_code);
        auto& [failed, got] = exchange;
        if (failed)
            co_return failed;
        if (got.status == 401)
            co_return error_code(mortise::errc::access_denied);
        const auto answer = http::read_outcome(got.body, gid);
        if (got.status != 200 || !answer)
            co_return error_code(errc::call_failed);
        co_return *answer;
    }

    const std::shared_ptr<http::channel> to_;
};

}  // namespace

std::shared_ptr<outcome_source>
make_outcome_source(asio::any_io_executor executor, http_client_config at) {
    if (at.token.empty() && at.token_file.empty())
        throw error(mortise::errc::bad_config, "token", "give it: a control server asks for it");
    return std::make_shared<remote_source>(std::move(executor), std::move(at));
}

std::shared_ptr<outcome_source>
make_outcome_source(asio::any_io_executor executor, http_client_config at, std::string token) {
    at.token = std::move(token);
    return make_outcome_source(std::move(executor), std::move(at));
}

}  // namespace mortise::txn
