-- SPDX-License-Identifier: BSL-1.0
-- ARGV: keys. Says of each its value or nothing, how many listen for its release, and for how many
-- milliseconds it lives (-1: for ever).
local said = {}
for _, key in ipairs(ARGV) do
    said[#said + 1] = value_at(key)
    said[#said + 1] = waiting_for(key)
    said[#said + 1] = call('PTTL', key)
end
return said
