-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: GENERATION ID BASE[:SLOT]. Draws more bases for that grant: those since the last one,
-- never beyond the clock's microsecond, so that they stay below all bases after a flush.
-- Says d FIRST COUNT, n (there is no such grant), s (it is shared), l.
local G, id, base, slot = match(ARGV[1], '^(%d+) (%d+) (%d+):?(%d*)$')
local COUNT_MAX = 1048576
local S = named_by(KEYS[2])
if not may_act(session_of(S), G) then
    return 'l'
end
local holder = find_holder(lock_at(FIRST), S, id)
if not holder or holder.base ~= base or holder.slot ~= (slot == '' and '0' or slot) then
    return 'n'
elseif holder.hold ~= '' and holder.since + holder.hold * 1000 <= now() then
    return 'n'
elseif holder.mode == 's' then
    return 's'
end
local first = math.max(state().base + 1, now() - COUNT_MAX + 1)
local last = math.max(first, now())
set_state('base', last)
save_sessions()
return 'd ' .. digits(first) .. ' ' .. digits(last - first + 1)
