// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_BASE_NAME_LOOKUP_HPP
#define MORTISE_BASE_NAME_LOOKUP_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mortise::detail {

namespace asio = boost::asio;

/// A look-up of the name of a host, which Boost.Asio does on a thread of its own: one for all
/// look-ups of a context. It cannot be cancelled once it has begun there, so whoever does not wait
/// any longer leaves it behind; one that stands behind others is taken back.
///
/// @par Threads Those of the executor, one at a time.
class name_lookup {
public:
    explicit name_lookup(const asio::any_io_executor& executor);
    ~name_lookup();
    name_lookup(const name_lookup&) = delete;
    name_lookup& operator=(const name_lookup&) = delete;

    /// The addresses of a host: those of a name, or the one that it is. Called once.
    ///
    /// @par Errors Those of the resolver; `timed_out`; `operation_aborted` after `give_up`.
    asio::awaitable<result<std::vector<asio::ip::address>>>
    find(std::string host, clock::duration limit);

    /// Ends the wait.
    void give_up() noexcept;

private:
    struct query;

    const std::shared_ptr<query> query_;
};

}  // namespace mortise::detail

#endif
