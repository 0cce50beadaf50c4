-- SPDX-License-Identifier: BSL-1.0
-- ARGV: TTL in milliseconds, and pairs of a key and an id. Prolongs each key that its id holds to
-- the TTL from now on; brings nothing back. Says for each how many listen for its release, or -1 if
-- it is not held.
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
