-- SPDX-License-Identifier: BSL-1.0
-- KEYS: .... ARGV: start, floor, longest TTL in ms. Gives a node that has forgotten its counters the largest of
-- others, which were read after its quarantine and for that start. Says 1 if the node votes from
-- now on. Its quarantine is longer if the nodes have heard of a longer TTL than it.
local state = call('HMGET', ID, 'start', 'until', 'knows', 'floor', 'longest')
if state[1] ~= ARGV[1] or state[3] ~= '0' or tonumber(state[2]) > now() then
    return 0
end
call('HDEL', SESSIONS, '')  -- Allowed without memory; so are all writes after it.
local more = ARGV[3] - state[5]
if more > 0 then
    state[2] = state[2] + more * 1000
    call('HSET', ID, 'longest', ARGV[3], 'until', digits(state[2]))
    return 0  -- The others must be asked again, after its end.
end
call('HSET', ID, 'knows', '1', 'floor', digits(math.max(tonumber(state[4] or 0), tonumber(ARGV[2]))))
return 1
