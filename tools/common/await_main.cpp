// SPDX-License-Identifier: BSL-1.0
#include "common/await_main.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <utility>

namespace mortise::tool {

int await_main(asio::io_context& context, asio::awaitable<int> main) {
    int code = 0;
    std::exception_ptr failed;
    asio::co_spawn(context, std::move(main), [&](const std::exception_ptr& thrown, int result) {
        failed = thrown;
        code = result;
    });
    context.run();
    if (failed)
        std::rethrow_exception(failed);
    return code;
}

}  // namespace mortise::tool
