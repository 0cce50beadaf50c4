// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/error.hpp"

#include "mortise/coro/detail/worker_job.hpp"

#include <boost/system/system_error.hpp>

#include <new>
#include <string>
#include <system_error>

namespace mortise::coro {

namespace {

class coro_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise.coro"; }

    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
        case errc::queue_full:
            return "the worker's queue is full";
        case errc::work_threw:
            return "the work ended with an exception that carries no error code";
        }
        return "unknown error " + std::to_string(value) + " of mortise.coro";
    }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
    static const coro_category category;
    return category;
}

error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

namespace detail {

error_code code_of_current_exception() noexcept {
    try {
        throw;
    } catch (const boost::system::system_error& e) {
        return e.code();
    } catch (const std::system_error& e) {
        return e.code();
    } catch (const std::bad_alloc&) {
        return make_error_code(boost::system::errc::not_enough_memory);
    } catch (...) {
        return errc::work_threw;
    }
}

}  // namespace detail

}  // namespace mortise::coro
