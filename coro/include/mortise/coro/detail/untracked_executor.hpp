// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_UNTRACKED_EXECUTOR_HPP
#define MORTISE_CORO_DETAIL_UNTRACKED_EXECUTOR_HPP

#include <boost/asio/any_io_executor.hpp>

#include <type_traits>
#include <utility>

namespace mortise::coro::detail {

namespace asio = boost::asio;

/// An executor that counts nothing as outstanding work: a coroutine that is spawned on it and waits
/// for something keeps no `io_context::run()` from returning. For background tasks that last only
/// as long as the program's own work.
class untracked_executor {
public:
    // Takes an `any_io_executor` exactly: otherwise the check whether this class is an executor
    // would depend on itself.
    template <class Executor>
        requires std::is_same_v<Executor, asio::any_io_executor>
    explicit untracked_executor(Executor inner) : inner_(std::move(inner)) {}

    template <class Function>
    void execute(Function&& function) const {
        inner_.execute(std::forward<Function>(function));
    }

    friend bool operator==(const untracked_executor& a, const untracked_executor& b) noexcept {
        return a.inner_ == b.inner_;
    }

    // All properties are those of the inner executor, except `outstanding_work.tracked`.

    template <class Property>
        requires asio::can_query_v<const asio::any_io_executor&, Property>
    auto query(const Property& property) const noexcept -> decltype(auto) {
        return asio::query(inner_, property);
    }
    template <class Property>
        requires asio::can_require_v<const asio::any_io_executor&, Property>
            untracked_executor require(const Property& property)
    const { return untracked_executor(asio::require(inner_, property)); }
    template <class Property>
        requires asio::can_prefer_v<const asio::any_io_executor&, Property>
            untracked_executor prefer(const Property& property)
    const { return preferring(property, std::bool_constant<counts_work<Property>>()); }

private:
    using tracked = asio::execution::outstanding_work_t::tracked_t;
    template <class Property>
    static constexpr bool counts_work =
        std::is_same_v<Property, tracked> ||
        std::is_same_v<Property, asio::execution::prefer_only<tracked>>;

    template <class Property>
    untracked_executor preferring(const Property&, std::true_type) const {
        return *this;
    }
    template <class Property>
    untracked_executor preferring(const Property& property, std::false_type) const {
        return untracked_executor(asio::prefer(inner_, property));
    }

    asio::any_io_executor inner_;
};

}  // namespace mortise::coro::detail

#endif
