-- SPDX-License-Identifier: BSL-1.0
-- ARGV: keys. Says of each its value or nothing, how many listen for its release, and for how many
-- milliseconds it lives (-1: for ever).
local reply = {}
for _, key in ipairs(ARGV) do
    reply[#reply + 1] = value_at(key)
    reply[#reply + 1] = waiting_for(key)
    reply[#reply + 1] = call('PTTL', key)
end
return reply
