// SPDX-License-Identifier: BSL-1.0
#include "outbox/kafka_target.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/printable.hpp"
#include "mortise/error.hpp"
#include "mortise/kafka/kafka_observer.hpp"
#include "mortise/kafka/kafka_sink.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::string_view blanks = " \t\r";

/// Splits NAME=VALUE. Does not show a text without `=` in the error: it may be a secret.
std::pair<std::string, std::string> split(const std::string& text, const std::string& where) {
    const auto at = text.find('=');
    if (at == std::string::npos || at == 0)
        refuse("this is no setting", where, "write NAME=VALUE");
    return {text.substr(0, at), text.substr(at + 1)};
}

std::string trimmed(const std::string& line) {
    const auto first = line.find_first_not_of(blanks);
    if (first == std::string::npos)
        return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

class settings_reader {
public:
    std::map<std::string, std::string> take() { return std::move(all_); }

    void read_file(const std::string& path) {
        std::ifstream file(path);
        if (!file)
            refuse("the file with settings cannot be read", path, "name one by --setting-file");
        std::size_t number = 0;
        for (std::string line; std::getline(file, line);) {
            ++number;
            line = trimmed(line);
            if (line.empty() || line.front() == '#')
                continue;
            auto [name, value] = split(line, path + ":" + std::to_string(number));
            put(trimmed(name), trimmed(value));
        }
        if (file.bad())
            refuse("the file with settings cannot be read", path, "name one by --setting-file");
    }
    void read_variable(const std::string& assignment) {
        auto [name, variable] = split(assignment, "--setting-env");
        const char* const value = std::getenv(variable.c_str());
        if (value == nullptr)
            refuse("the environment has no such variable", variable, "set it, and export it");
        put(std::move(name), value);
    }
    void read_argument(const std::string& assignment) {
        auto [name, value] = split(assignment, "--setting");
        if (kafka::is_secret(name)) {
            refuse(
                "everybody can read what is said on a command line",
                name,
                "put it into a file (--setting-file), or the environment (--setting-env)"
            );
        }
        put(std::move(name), std::move(value));
    }

private:
    void put(std::string name, std::string value) {
        if (all_.contains(name))
            refuse("this setting is given twice", name, "say it once");
        all_.emplace(std::move(name), std::move(value));
    }

    std::map<std::string, std::string> all_;
};

/// Prints the log of librdkafka for a user who asked for it.
class log_printer final : public kafka::kafka_observer {
public:
    void on_event(const kafka::kafka_event& event) noexcept override {
        if (event.type != kafka::kafka_event::kind::log)
            return;
        // Write one string: several threads print.
        std::cerr << "librdkafka: " + printable(event.text, newlines::as_spaces) + '\n';
    }
};

kafka::kafka_observer& printer_of_program() {
    static log_printer& printer = *new log_printer();  // never destroyed: threads may end later
    return printer;
}

}  // namespace

outbox::sink_factory kafka_target(const kafka_settings& settings) {
    settings_reader reader;
    if (!settings.file.empty())
        reader.read_file(settings.file);
    for (const auto& each : settings.variables)
        reader.read_variable(each);
    for (const auto& each : settings.settings)
        reader.read_argument(each);
    kafka::kafka_sink_config config((kafka::kafka_config(settings.servers)));
    config.cluster.settings = reader.take();
    if (config.cluster.settings.contains("debug"))
        config.cluster.watch = &printer_of_program();
    if (!settings.progress_topic.empty())
        config.progress_topic = settings.progress_topic;
    if (settings.progress_partitions > 0)
        config.progress_partitions = settings.progress_partitions;
    if (!settings.id_prefix.empty())
        config.id_prefix = settings.id_prefix;
    if (settings.topic_wait.count() > 0)
        config.cluster.topic_wait_max = settings.topic_wait;
    try {
        return kafka::make_kafka_sink(std::move(config));
    } catch (const error& thrown) {
        throw failure(exit_code::usage, thrown.code().message(), thrown.value(), thrown.remedy());
    }
}

}  // namespace mortise::tool
