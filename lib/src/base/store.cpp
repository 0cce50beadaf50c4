// SPDX-License-Identifier: BSL-1.0
#include "mortise/store.hpp"

namespace mortise {

asio::awaitable<result<std::vector<break_record>>> store::breaks(std::string, std::size_t) {
    co_return error_code(errc::unsupported);
}

asio::awaitable<error_code> store::watch() {
    co_return errc::unsupported;
}

}  // namespace mortise
