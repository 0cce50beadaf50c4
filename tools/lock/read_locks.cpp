// SPDX-License-Identifier: BSL-1.0
#include "lock/read_locks.hpp"

#include "common/failure.hpp"
#include "mortise/coro/detail/with_code.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::size_t page_size = 256;

}  // namespace

std::string name_before(std::string prefix) {
    if (prefix.empty())
        return prefix;
    const auto last = static_cast<unsigned char>(prefix.back());
    prefix.pop_back();
    if (last == 0)
        return prefix;
    prefix += static_cast<char>(last - 1);
    // Names have a size limit, so no name that begins with the prefix sorts after this one.
    prefix.resize(std::max(prefix.size(), name_size_max), '\xff');
    return prefix;
}

asio::awaitable<std::vector<lock_view>>
read_locks(lock_client& locks, std::string store, std::string prefix, std::size_t queue_max) {
    std::vector<lock_view> all;
    std::string after = name_before(prefix);
    for (;;) {
        auto listed =
            co_await locks.async_list(after, page_size, queue_max, coro::detail::with_code);
        auto& [code, page] = listed;
        if (code)
            throw failure::of_code(code, store, locks.explain());
        bool last = page.size() < page_size;
        if (!page.empty())
            after = page.back().name;
        while (!page.empty() && !page.back().name.starts_with(prefix)) {
            page.pop_back();
            last = true;
        }
        all.insert(
            all.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end())
        );
        if (last)
            co_return all;
    }
}

}  // namespace mortise::tool
