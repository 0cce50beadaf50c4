// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_TWIN_HPP
#define MORTISE_TESTS_REDIS_MODEL_TWIN_HPP

#include "redis_model/model_redis.hpp"
#include "support/raw_redis.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::test {

/// Converts a real value to the form of the store and the model.
store_detail::redis_value as_modelled(const redis_value& real);

/// Shows a value on one line.
std::string shown(const store_detail::redis_value& value);

/// Removes what may differ from a reply: the order of unordered results, and times.
store_detail::redis_value
settled(const std::vector<std::string>& words, store_detail::redis_value reply);

/// One client at the real server and at the model.
class twin {
public:
    enum class greeting : std::uint8_t { usual, none };

    twin(std::uint16_t port, redis_model::model_redis& model, greeting how = greeting::usual);
    ~twin() { model_.disconnect(id_); }
    twin(const twin&) = delete;
    twin& operator=(const twin&) = delete;

    struct replies {
        store_detail::redis_value real;
        store_detail::redis_value model;
    };

    /// Runs the same command at both.
    replies execute(const std::vector<std::string>& words);
    /// Whether both reply alike. Fails the test if not.
    bool agree(const std::vector<std::string>& words);
    /// Whether both have pushed the same.
    bool heard_the_same();
    void subscribe(const std::string& channel);

private:
    raw_redis real_;
    redis_model::model_redis& model_;
    std::vector<store_detail::redis_value> heard_;
    redis_model::model_redis::client_id id_;
};

}  // namespace mortise::test

#endif
