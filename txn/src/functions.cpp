// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/functions.hpp"

#include <utility>

namespace mortise::txn {
namespace {

class functions final : public participant {
public:
    functions(call_function try_, call_function confirm, call_function cancel)
        : reserve_(std::move(try_)), confirm_(std::move(confirm)), cancel_(std::move(cancel)) {}

    asio::awaitable<result<reply>> carry_out(call call) override {
        const call_function& todo = call.type == operation::try_      ? reserve_
                                    : call.type == operation::confirm ? confirm_
                                                                      : cancel_;
        co_return co_await todo(call);
    }

private:
    const call_function reserve_;
    const call_function confirm_;
    const call_function cancel_;
};

}  // namespace

std::shared_ptr<participant>
make_participant(call_function try_, call_function confirm, call_function cancel) {
    return std::make_shared<functions>(std::move(try_), std::move(confirm), std::move(cancel));
}

}  // namespace mortise::txn
