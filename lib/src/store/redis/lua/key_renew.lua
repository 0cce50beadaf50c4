-- SPDX-License-Identifier: BSL-1.0
-- ARGV: TTL, and pairs of a key and an id. Each key that is held by it lives for so long from now on;
-- nothing is brought back. Says for each how many listen for its release, or -1 if it is not held.
local said = {}
for at = 2, #ARGV, 2 do
    if is_of(value_at(ARGV[at]), ARGV[at + 1]) then
        call('PEXPIRE', ARGV[at], ARGV[1])
        said[#said + 1] = waiting_for(ARGV[at])
    else
        said[#said + 1] = -1
    end
end
return said
