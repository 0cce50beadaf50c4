// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OPEN_STORE_HPP
#define MORTISE_OPEN_STORE_HPP

#include "mortise/store.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace mortise {

/// Makes a store from a URL.
///
/// | URL | store |
/// | --- | --- |
/// | `memory:` | of this client alone |
/// | `memory:NAME` | shared by all clients of this process that use the same name |
/// | `sqlite:PATH?domain=D&checkpoint_bytes=N` | for all processes of this host; the path may be
/// absolute or relative |
/// | `redis://USER:PASSWORD@HOST:PORT/DATABASE?prefix=P` | for all that reach that server; most
/// parts may be left out |
/// | `rediss://...` | the same over TLS; `ca_file`, `certificate_file`, `key_file` name PEM files |
/// | `redis+unix://USER:PASSWORD@/PATH?database=N` | the same by the server's Unix socket |
/// | `redis+sentinel://HOST:PORT,HOST:PORT/NAME/DATABASE` | the primary that sentinels call NAME |
/// | `redis+cluster://HOST:PORT,HOST:PORT?buckets=N` | spread over a Redis Cluster, in N slots |
/// | `redlock://HOST:PORT,HOST:PORT,HOST:PORT/DATABASE` | a majority of those Redis servers, which
/// know nothing of each other; `redlocks://...` over TLS |
/// | `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=S` | for all that reach that PostgreSQL
/// server; several hosts may be given, of which the one that takes writes is used |
/// | `mysql://USER:PASSWORD@HOST:PORT/DATABASE` (or `mariadb:`) | for all that reach that MariaDB
/// or MySQL server |
/// | `zookeeper://USER:PASSWORD@HOST:PORT,HOST:PORT/ROOT` | for all that reach that ensemble |
///
/// Options of the SQLite store: `domain`, `checkpoint_bytes`, `busy_poll_max_us`,
/// `allow_network_file_system`, as in `sqlite_store_config`.
///
/// Options of the Redis store: `prefix`, `domain`, `min_replicas`, `allow_eviction`,
/// `allow_unseen_restarts`, `assume_new`, `longest_ttl_ms`, `connect_max_ms`, `buckets`, `form`
/// (`queue` or `single_key`), `tokens`, `client_name`, `no_evict`, `busy_poll_max_us`, `tls_name`,
/// `sentinel_user`, as in `redis_store_config`; `password_env` and `password_file` (and
/// `sentinel_password_env`, `sentinel_password_file`) name the place of a password, instead of the
/// URL. A URL in a message is without its password.
///
/// Options of the PostgreSQL store: `schema`, `create`, `domain`, as in `postgres_store_config`,
/// and those of `db::parse_postgres_url`. Those of the Redlock store are in `parse_redlock_url`,
/// those of the ZooKeeper store in `parse_zookeeper_url`. Options of the store at MariaDB and
/// MySQL: `create`, `domain`, as in `mysql_store_config`, and those of `db::parse_mysql_url`.
///
/// Characters of the path that are special in a URL (`%`, `?`, `#`, `&`, and in a login `@`, `:`,
/// `/`) are written as `%XX`.
/// Opens nothing yet.
///
/// @throws error `unknown_scheme`, `bad_url`, or the code for a setting that the store refuses.
std::unique_ptr<store> open_store(std::string_view url);

/// The statements that make the tables of a store at a database server, for an administrator: each
/// ends with a semicolon and a new line. What is there already stays as it is. Does no I/O.
/// @throws error as `open_store`, and `unsupported` for a store that needs no administrator.
std::string tables_of_store(std::string_view url);

/// The URL of a store as it may be shown: all parts that may be a password are replaced by three
/// stars.
std::string without_passwords(std::string_view url);

}  // namespace mortise

#endif
