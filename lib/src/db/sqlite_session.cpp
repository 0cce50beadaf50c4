// SPDX-License-Identifier: BSL-1.0
#include "db/sqlite_session.hpp"

#include "db/open_database.hpp"
#include "db/session_state.hpp"
#include "mortise/db/sqlite_error.hpp"
#include "mortise/detail/real_time.hpp"
#include "mortise/error.hpp"
#include "mortise/store_types.hpp"

#include <string>
#include <utility>

namespace mortise::db::detail {
namespace {

void check(const sqlite_config& config) {
    const auto refuse = [](const char* option, const char* remedy) {
        throw error(errc::bad_config, option, remedy);
    };
    if (config.path.empty() || config.path == ":memory:")
        refuse("sqlite_config::path", "name a file: a session has several connections to it");
    if (config.queue_max == 0 || config.batch_max == 0)
        refuse("sqlite_config::queue_max or batch_max = 0", "use at least 1");
    constexpr std::size_t batch_most = std::size_t{1} << 20;  // memory for a batch is kept
    if (config.batch_max > batch_most)
        refuse("sqlite_config::batch_max", "use at most 1,048,576");
    for (const auto& [name, bytes] :
         {std::pair("sqlite_config::checkpoint_bytes", config.checkpoint_bytes),
          std::pair("sqlite_config::read_cache_bytes", config.read_cache_bytes)}) {
        if (bytes < std::uint64_t{64} << 10 || bytes > std::uint64_t{1} << 40)
            refuse(name, "use 64 KiB to 1 TiB");
    }
    constexpr std::chrono::hours busy_most(1);
    if (config.busy_max.count() < 0 || config.busy_max > busy_most)
        refuse("sqlite_config::busy_max", "use zero to one hour");
}

sqlite_config checked(sqlite_config config) {
    check(config);
    return config;
}

coro::worker_config thread_config(const sqlite_config& config, const char* name) {
    coro::worker_config thread;
    thread.name = name;
    thread.queue_max = config.queue_max;
    thread.grace = config.grace;
    return thread;
}

std::shared_ptr<coro::detail::batch_worker>
make_helper(const asio::any_io_executor& executor, const sqlite_config& config) {
    coro::worker_config thread;  // not with `config.queue_max`: a stop always finds room
    thread.name = "db-checkpoint";
    thread.grace = config.grace;
    return std::make_shared<coro::detail::batch_worker>(executor, std::move(thread));
}

}  // namespace

sqlite_session::sqlite_session(asio::any_io_executor executor, sqlite_config config)
    : executor_(std::move(executor)),
      config_(checked(std::move(config))),
      state_(std::make_shared<session_state>()),
      seed_(config_.jitter_seed != 0 ? config_.jitter_seed : random_id::draw().low),
      helper_(make_helper(executor_, config_)),
      writer_(std::make_shared<writer>(state_, config_, helper_)),
      reader_(std::make_shared<reader>(state_, config_)),
      write_thread_(executor_, thread_config(config_, "db-write"), config_.batch_max, writer_),
      read_thread_(executor_, thread_config(config_, "db-read"), 1, reader_) {}

sqlite_session::~sqlite_session() {
    stop();
    helper_->stop();
    helper_->join();
}

void sqlite_session::submit(session_side side, std::shared_ptr<session_job> job) {
    (side == session_side::write ? write_thread_ : read_thread_).submit(std::move(job));
}

void sqlite_session::stop() noexcept {
    state_->stop();
    write_thread_.stop();
    read_thread_.stop();
}

void sqlite_session::close() noexcept {
    if (std::exchange(closed_, true))
        return;
    write_thread_.wait_stopped();
    read_thread_.wait_stopped();
    reader_->close();
    writer_->close();
}

sqlite_stats sqlite_session::stats() const noexcept {
    sqlite_stats now;
    now.transactions = state_->transactions;
    now.forced = state_->forced;
    now.rolled_back = state_->rolled_back;
    now.batches = state_->batches;
    now.batches_forced = state_->batches_forced;
    now.batch_largest = state_->batch_largest;
    now.reads = state_->reads;
    now.checkpoints = state_->checkpoints;
    now.conflicts = state_->conflicts;
    now.log_bytes = state_->log_bytes;
    return now;
}

coro::time_source& sqlite_session::time() {
    std::call_once(time_made_, [this] {
        if (!config_.time)
            config_.time = mortise::detail::make_real_time(executor_);
    });
    return *config_.time;
}

std::uint64_t sqlite_session::draw_seed() noexcept {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
    return seed_.fetch_add(golden);
}

reader::reader(std::shared_ptr<session_state> state, const sqlite_config& config)
    : state_(std::move(state)), wait_(*state_, config.busy_max) {
    open_database(db_, wait_, config, database_use::read);
    connection_.emplace(db_.handle(), config.statements_max);
    guard_.install(db_.handle());
}

reader::~reader() {
    close();
}

void reader::close() noexcept {
    connection_.reset();
    db_.close();
}

void reader::run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept {
    for (const auto& each : batch)
        read(static_cast<session_job&>(*each));
}

void reader::read(session_job& job) noexcept {
    if (state_->poisoned)
        return job.fail(errc::poisoned);
    if (!db_.step("BEGIN")) {
        job.fail(sqlite_error(db_.code()));
        return db_.forgive();
    }
    job.lend(*connection_);
    guard_.enter();
    job.run();
    guard_.leave();
    connection_->reset_statements();
    db_.roll_back();  // ends the snapshot; a read has nothing to commit
    if (guard_.tried())
        job.fail(errc::transaction_control);
    if (!job.code())
        ++state_->reads;
}

}  // namespace mortise::db::detail
