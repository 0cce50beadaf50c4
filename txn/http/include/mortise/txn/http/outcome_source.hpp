// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_OUTCOME_SOURCE_HPP
#define MORTISE_TXN_HTTP_OUTCOME_SOURCE_HPP

#include "mortise/txn/http/http_client_config.hpp"
#include "mortise/txn/outcome_source.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace mortise::txn {

/// Asks a coordinator elsewhere through its `control_server`, at the URL and with the token of the
/// configuration.
/// @throws error (`bad_url`, `bad_config`).
std::shared_ptr<outcome_source>
make_outcome_source(asio::any_io_executor executor, http_client_config at);

/// The same, with the given token.
std::shared_ptr<outcome_source>
make_outcome_source(asio::any_io_executor executor, http_client_config at, std::string token);

}  // namespace mortise::txn

#endif
