// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_TRACKER_EXECUTOR_HPP
#define MORTISE_TESTS_SUPPORT_TRACKER_EXECUTOR_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace mortise::test {

/// An executor that passes everything on to another one and knows whether it runs the present
/// function: it shows *where* a handler ran, and that it did not run inline.
class tracker_executor {
public:
    // Takes no executor: the check whether that is a tracker_executor would ask itself.
    explicit tracker_executor(asio::io_context& context)
        : inner_(context.get_executor()), submitted_(std::make_shared<std::atomic<int>>(0)) {}

    /// Whether the calling function was run by this executor, or a copy.
    bool runs_this() const noexcept { return present() == submitted_.get(); }
    /// How many functions were given to it.
    int submitted() const noexcept { return *submitted_; }

    template <class Function>
    void execute(Function&& function) const {
        ++*submitted_;
        inner_.execute([mark = submitted_, todo = std::forward<Function>(function)]() mutable {
            const within here(mark.get());
            std::move(todo)();
        });
    }

    friend bool operator==(const tracker_executor& a, const tracker_executor& b) noexcept {
        return a.inner_ == b.inner_ && a.submitted_ == b.submitted_;
    }

    // All properties are those of the inner executor.

    template <class Property>
        requires asio::can_query_v<const asio::any_io_executor&, Property>
    auto query(const Property& property) const noexcept -> decltype(auto) {
        return asio::query(inner_, property);
    }
    template <class Property>
        requires asio::can_require_v<const asio::any_io_executor&, Property>
            tracker_executor require(const Property& property)
    const { return {asio::require(inner_, property), submitted_}; }
    template <class Property>
        requires asio::can_prefer_v<const asio::any_io_executor&, Property>
            tracker_executor prefer(const Property& property)
    const { return {asio::prefer(inner_, property), submitted_}; }

private:
    using mark = std::shared_ptr<std::atomic<int>>;

    tracker_executor(asio::any_io_executor inner, mark submitted)
        : inner_(std::move(inner)), submitted_(std::move(submitted)) {}

    static const void*& present() noexcept {
        thread_local const void* executor = nullptr;
        return executor;
    }

    class within {
    public:
        explicit within(const void* executor) noexcept
            : before_(std::exchange(present(), executor)) {}
        ~within() { present() = before_; }
        within(const within&) = delete;
        within& operator=(const within&) = delete;

    private:
        const void* before_;
    };

    asio::any_io_executor inner_;
    mark submitted_;
};

}  // namespace mortise::test

#endif
