// SPDX-License-Identifier: BSL-1.0
#include "store/redis/known_scripts.hpp"

namespace mortise::store_detail {

redis_command known_scripts::question(const std::vector<redis_script>& wanted) const {
    redis_command question{"SCRIPT", "EXISTS"};
    for (const auto script : wanted)
        question.push_back(scripts_[script].sha1);
    return question;
}

std::vector<redis_script>
known_scripts::note(const std::vector<redis_script>& wanted, const redis_value& answer) {
    std::vector<redis_script> missing;
    if (answer.type != redis_value::kind::array || answer.items.size() != wanted.size())
        return missing;
    for (std::size_t at = 0; at < wanted.size(); ++at) {
        if (answer.items[at].number == 1)
            loaded(wanted[at]);
        else
            missing.push_back(wanted[at]);
    }
    return missing;
}

redis_command known_scripts::loading(redis_script script) const {
    return {"SCRIPT", "LOAD", scripts_[script].text};
}

redis_command known_scripts::call(const script_call& wanted) {
    const auto& called = scripts_[wanted.script];
    const bool known = known_.test(index(wanted.script));
    redis_command command;
    command.reserve(wanted.keys.size() + wanted.arguments.size() + 3);
    command.push_back(known ? "EVALSHA" : "EVAL");
    command.push_back(known ? called.sha1 : called.text);
    command.push_back(std::to_string(wanted.keys.size()));
    command.insert(command.end(), wanted.keys.begin(), wanted.keys.end());
    command.insert(command.end(), wanted.arguments.begin(), wanted.arguments.end());
    known_.set(index(wanted.script));
    return command;
}

bool is_unknown_script(const redis_value& reply) noexcept {
    return reply.type == redis_value::kind::error && reply.text.starts_with("NOSCRIPT");
}

}  // namespace mortise::store_detail
