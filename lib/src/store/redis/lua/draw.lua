-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION ID BASE[:SLOT]. Draws more bases for that grant: those since the last
-- one, never beyond the clock's microsecond, so that they stay below all bases after a flush.
-- Says d FIRST COUNT, n (there is no such grant), s (it is shared), l.
local S, G, id, base, slot = match(ARGV[1], '^(%S+) (%d+) (%d+) (%d+):?(%d*)$')
local COUNT_MAX = 1048576
local own = call('HMGET', '{P}s:' .. S, 'g', 'd', id)
if not may_act(own[1], own[2], G) then
    return 'l'
end
local entry = own[3] and entry_of(own[3])
if not entry or entry.base ~= base or entry.slot ~= (slot == '' and '0' or slot) then
    return 'n'
end
local ends = end_of(entry)
if ends and ends <= now() then
    return 'n'
elseif entry.mode == 's' then
    return 's'
end
local first = math.max(tonumber(call('GET', '{P}t') or 0) + 1, now() - COUNT_MAX + 1)
local last = math.max(first, now())
call('SET', '{P}t', digits(last))
return 'd ' .. digits(first) .. ' ' .. digits(last - first + 1)
