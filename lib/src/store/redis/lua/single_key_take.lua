-- SPDX-License-Identifier: BSL-1.0
-- ARGV: key, id, TTL, the key of the counter of tokens or nothing. Takes the lock if it is free, or
-- if the id holds it. Says g BASE; b and how long the holder's key lives, in milliseconds (-1: for
-- ever).
local key, id, ttl, counter = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local base = counter ~= '' and next_base(counter) or ''
if call('SET', key, counter ~= '' and id .. ':' .. base or id, 'NX', 'PX', ttl) then
    if counter ~= '' then
        call('SET', counter, base)
    end
    return {'g', base}
end
local value = value_at(key)
if is_of(value, id) then
    call('PEXPIRE', key, ttl)
    return {'g', sub(value, ID_SIZE + 2)}
end
return {'b', call('PTTL', key)}
