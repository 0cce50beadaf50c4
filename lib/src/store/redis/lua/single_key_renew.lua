-- SPDX-License-Identifier: BSL-1.0
-- ARGV: TTL in milliseconds, and pairs of a key and an id. Prolongs each key that its id holds to
-- the TTL from now on; brings nothing back. Says for each how many listen for its release, or -1 if
-- it is not held.
local reply = {}
for at = 2, #ARGV, 2 do
    if is_of(value_at(ARGV[at]), ARGV[at + 1]) then
        call('PEXPIRE', ARGV[at], ARGV[1])
        reply[#reply + 1] = waiting_for(ARGV[at])
    else
        reply[#reply + 1] = -1
    end
end
return reply
