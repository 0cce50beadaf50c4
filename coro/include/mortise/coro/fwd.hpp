// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_FWD_HPP
#define MORTISE_CORO_FWD_HPP

#include <boost/system/error_code.hpp>

namespace boost::asio {}

namespace mortise {

namespace asio = boost::asio;
using boost::system::error_code;

namespace coro {

class event;
class mutex;
class mutex_guard;
class task_scope;
class time_source;
class virtual_time;
class worker;

}  // namespace coro
}  // namespace mortise

#endif
