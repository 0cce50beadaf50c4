// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_RUN_ON_HPP
#define MORTISE_TESTS_SUPPORT_RUN_ON_HPP

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <future>
#include <memory>
#include <type_traits>
#include <utility>

namespace mortise::test {

/// Calls `call` on the thread that runs a context, another one than the caller's.
/// @return its result
template <class Call>
std::invoke_result_t<Call&> run_on(boost::asio::io_context& context, Call call) {
    using task = std::packaged_task<std::invoke_result_t<Call&>()>;
    const auto whole = std::make_shared<task>(std::move(call));
    auto done = whole->get_future();
    boost::asio::post(context, [whole] { (*whole)(); });
    return done.get();
}

}  // namespace mortise::test

#endif
