-- SPDX-License-Identifier: BSL-1.0
-- ARGV: keys. Says of each its value, or nothing, and how many listen for its release.
local said = {}
for _, key in ipairs(ARGV) do
    said[#said + 1] = value_at(key)
    said[#said + 1] = waiting_for(key)
end
return said
