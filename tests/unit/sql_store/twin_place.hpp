// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_STORE_TWIN_PLACE_HPP
#define MORTISE_TESTS_UNIT_SQL_STORE_TWIN_PLACE_HPP

#include "mortise/store.hpp"
#include "store/sql/sql_server.hpp"

#include <chrono>
#include <memory>

namespace mortise::test {

/// Tables of a store of their own at a real server: what is different at each kind of server.
class twin_place {
public:
    virtual ~twin_place() = default;
    twin_place() = default;
    twin_place(const twin_place&) = delete;
    twin_place& operator=(const twin_place&) = delete;

    virtual std::unique_ptr<store_detail::sql_server> make_server() const = 0;
    std::unique_ptr<store> make_store() const { return make_sql_store(make_server()); }
    /// The deadline of a session has passed.
    virtual void expire(core::session_key key) = 0;
    /// All sessions whose deadline has not passed have so much time from now on.
    virtual void extend(std::chrono::microseconds span) = 0;
};

std::unique_ptr<twin_place> make_twin_place();

}  // namespace mortise::test

#endif
