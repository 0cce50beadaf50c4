// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_LIFE_HOST_WATCH_HPP
#define MORTISE_STORE_LIFE_HOST_WATCH_HPP

#include "core/lock_rows.hpp"
#include "mortise/store_types.hpp"
#include "store/life/life_watch.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <vector>

namespace mortise::store_detail {

/// Another session, whose client says that it is on this host.
struct host_neighbour {
    core::session_key key = 0;
    session_id id;
};

/// Sees at once that the process of another session on this host has ended, whatever server the
/// store is at.
///
/// Each session listens on a socket of the abstract name space that is named by its id, which is
/// random, and is connected to those of the next few sessions of the host. Only the end of such a
/// connection proves that the process has ended or has let go of the session. A socket that cannot
/// be reached proves nothing: the host of that name may be another one, or the process may live in
/// another network name space. Then the TTL decides, as everywhere.
///
/// @par Threads The strand.
class host_watch {
public:
    host_watch(asio::any_io_executor strand, life_watch::silence_function silence);
    ~host_watch() { close(); }
    host_watch(const host_watch&) = delete;
    host_watch& operator=(const host_watch&) = delete;

    /// Listens for a session, instead of the one before, before the server knows of it. A system
    /// that gives no socket is no failure.
    void open(const session_id& session);
    /// Says that the process has let go of the session. To be called when nobody believes in a
    /// lease of it any more.
    void close() noexcept;

    /// Watches these sessions, and lets go of others.
    void look(const std::vector<host_neighbour>& nearest);

private:
    const asio::any_io_executor strand_;
    const life_watch::silence_function silence_;
    std::shared_ptr<life_watch> life_;  ///< Null while there is no session.
};

}  // namespace mortise::store_detail

#endif
