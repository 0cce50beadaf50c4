// SPDX-License-Identifier: BSL-1.0
#include "common/with_store.hpp"

#include "common/await_main.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/open_store.hpp"

#include <exception>
#include <utility>

namespace mortise::tool {

asio::awaitable<int> work_and_stop(lock_client& locks, const store_work& work) {
    int code = 0;
    std::exception_ptr failed;
    try {
        code = co_await work(locks);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await locks.async_stop(coro::detail::with_code);
    if (failed)
        std::rethrow_exception(failed);
    co_return code;
}

int with_store(const global_settings& global, client_config config, const store_work& work) {
    asio::io_context context(1);
    lock_client locks(context.get_executor(), open_store(global.store), std::move(config));
    return await_main(context, work_and_stop(locks, work));
}

}  // namespace mortise::tool
