// SPDX-License-Identifier: BSL-1.0
#include "handle.hpp"

#include "mortise/error.hpp"
#include "mortise/kafka/error.hpp"

#include <chrono>
#include <condition_variable>
#include <system_error>
#include <thread>
#include <utility>

namespace mortise::kafka::detail {
namespace {

voice& voice_of(void* opaque) noexcept {
    return *static_cast<voice*>(opaque);
}

void on_log(const rd_kafka_t* from, int level, const char* facility, const char* text) {
    void* const opaque = ::rd_kafka_opaque(from);
    if (opaque == nullptr)
        return;
    const std::string line = std::string(facility) + ": " + text;
    voice_of(opaque).tell(kafka_event::kind::log, level, {}, line);
}

// Whether a working connection was lost. The text differs if none could be made.
bool tells_of_lost_connection(std::string_view text) {
    return text.find("in state UP") != std::string_view::npos;
}

void on_error(rd_kafka_t*, int code, const char* text, void* opaque) {
    // "All brokers are down" says less than the reason of the last one: keep that.
    if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || voice_of(opaque).trouble().empty())
        voice_of(opaque).note_trouble(text);
    voice_of(opaque).note_failure(code, tells_of_lost_connection(text));
    voice_of(opaque).tell(kafka_event::kind::error, 3, kafka_error(code), text);
}

int on_statistics(rd_kafka_t*, char* json, std::size_t size, void* opaque) {
    voice_of(opaque).tell(kafka_event::kind::statistics, 6, {}, std::string_view(json, size));
    return 0;  // librdkafka frees it.
}

void on_report(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    if (voice_of(opaque).on_report)
        voice_of(opaque).on_report(*message);
}

void on_rebalance(
    rd_kafka_t* from,
    rd_kafka_resp_err_t code,
    rd_kafka_topic_partition_list_t* partitions,
    void* opaque
) {
    if (voice_of(opaque).on_rebalance)
        voice_of(opaque).on_rebalance(code, *partitions);
    else
        ::rd_kafka_assign(from, nullptr);  // Nobody reads any longer.
}

void on_waiting(rd_kafka_t*, void* opaque) {
    voice_of(opaque).wake();
}

// librdkafka (seen in 2.0.2, unchanged in 2.15.0) frees the text of a transaction's error before
// its broker threads end. An answer that tells a producer that it was fenced then frees that text
// again. A purge waits until these threads have forgotten what is in flight, so no such answer is
// read.
void destroy(rd_kafka_t* client) noexcept {
    ::rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    ::rd_kafka_destroy(client);
}

/// Threads that destroy handles. The end of the program waits for them, within limits.
class closing_threads {
public:
    // Never destroyed: a thread may outlast the wait.
    static closing_threads& of_program() {
        static closing_threads& all = *new closing_threads();
        static const end_of_program waits;
        return all;
    }

    void close(rd_kafka_t* client, std::shared_ptr<voice> its_voice) noexcept {
        {
            const std::lock_guard hold(mutex_);
            ++under_way_;
        }
        const auto work = [this, client, kept = std::move(its_voice)] {
            destroy(client);
            const std::lock_guard hold(mutex_);
            --under_way_;
            changed_.notify_all();
        };
        try {
            std::thread(work).detach();
        } catch (const std::system_error&) {
            work();  // No thread can be started: a pause is better than a leak.
        }
    }

private:
    struct end_of_program {
        end_of_program() = default;
        ~end_of_program() { of_program().wait(); }
    };

    void wait() {
        std::unique_lock hold(mutex_);
        changed_.wait_for(hold, std::chrono::seconds(5), [this] { return under_way_ == 0; });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    int under_way_ = 0;
};

}  // namespace

voice::voice(const kafka_config& config) : secrets_(config.settings), observer_(config.watch) {}

void voice::on_waiting(std::function<void()> wake) {
    const std::lock_guard hold(mutex_);
    wake_ = std::move(wake);
}

void voice::silence() noexcept {
    if (process_.forked())
        return;  // The thread that may hold the mutex does not exist in this process.
    std::function<void()> dropped;
    const std::lock_guard hold(mutex_);
    observer_ = nullptr;
    dropped.swap(wake_);
}

void voice::tell(
    kafka_event::kind kind, int level, error_code code, std::string_view text
) noexcept {
    const std::lock_guard hold(mutex_);
    if (observer_ == nullptr)
        return;
    const std::string shown = secrets_.hide_in(text);
    kafka_event event;
    event.type = kind;
    event.level = level;
    event.code = code;
    event.text = shown;
    observer_->on_event(event);
}

std::string voice::trouble() const {
    const std::lock_guard hold(trouble_mutex_);
    return trouble_;
}

void voice::note_trouble(std::string_view text) noexcept {
    std::string shown = secrets_.hide_in(text);
    const std::lock_guard hold(trouble_mutex_);
    trouble_.swap(shown);
}

void voice::forget_trouble() noexcept {
    const std::lock_guard hold(trouble_mutex_);
    trouble_.clear();
}

void voice::wake() noexcept {
    const std::lock_guard hold(mutex_);
    if (wake_)
        wake_();
}

handle::handle(const kafka_config& config, purpose what_for, const std::string& id)
    : purpose_(what_for),
      voice_(std::make_shared<voice>(config)),
      settings_(make_settings(config, what_for, id)) {
    rd_kafka_conf_t* const to = settings_.get();
    ::rd_kafka_conf_set_opaque(to, voice_.get());
    ::rd_kafka_conf_set_log_cb(to, &on_log);
    ::rd_kafka_conf_set_error_cb(to, &on_error);
    ::rd_kafka_conf_set_stats_cb(to, &on_statistics);
    if (what_for == purpose::producing)
        ::rd_kafka_conf_set_dr_msg_cb(to, &on_report);
    if (what_for == purpose::consuming)
        ::rd_kafka_conf_set_rebalance_cb(to, &on_rebalance);
    closing_threads::of_program();  // Create it before any handle, to outlive static ones.
}

void handle::open() {
    if (handle_ != nullptr || !settings_)
        return;
    // Asking with a consumer never creates a topic.
    const rd_kafka_type_t type =
        purpose_ == purpose::producing ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER;
    char text[512];
    handle_ = ::rd_kafka_new(type, settings_.get(), text, sizeof text);
    if (handle_ == nullptr) {
        const error wrong(
            mortise::errc::bad_config,
            "kafka_config::settings",
            "librdkafka says: " + voice_->hidden().hide_in(text)
        );
        voice_->note_trouble(wrong.what());
        throw wrong;
    }
    static_cast<void>(settings_.release());  // The handle owns them now.
    const owned<rd_kafka_queue_t> queue(::rd_kafka_queue_get_main(handle_));
    listen_to(*queue);
}

void handle::listen_to(rd_kafka_queue_t& queue) noexcept {
    ::rd_kafka_queue_cb_event_enable(&queue, &on_waiting, voice_.get());
}

handle::~handle() {
    if (handle_ == nullptr)
        return;
    voice_->silence();
    if (!process_.forked())
        closing_threads::of_program().close(handle_, std::move(voice_));
}

void handle::close() noexcept {
    if (handle_ == nullptr || process_.forked())
        return;
    voice_->silence();
    destroy(std::exchange(handle_, nullptr));
}

}  // namespace mortise::kafka::detail
