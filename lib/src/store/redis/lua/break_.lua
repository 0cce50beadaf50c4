-- SPDX-License-Identifier: BSL-1.0
-- KEYS: s, e (of nobody), d, x, w, y, a lock's l, o, h, f, n, b, id. ARGV: BASE and SLOT of a grant, who
-- breaks it and why, how many holders a record names, how many records are kept. Takes the lock from
-- all grants with that base and slot. Says how many there were.
local base, slot, who, why = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local lock, broken, record, parties = lock_at(FIRST), 0, {}, {}
other_run = is_other_run(call('HGET', KEYS[13], 'r'))
call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.

local function note(text)
    record[#record + 1] = #text .. ':' .. text
end

local holders = {}
for at, holder in ipairs(lock.holders) do
    holders[at] = holder
end
if lock.crowd then
    for _, text in ipairs(call('HVALS', KEYS[FIRST + 2])) do
        holders[#holders + 1] = holder_of(text)
    end
end
for _, holder in ipairs(holders) do
    if holder.base == base and holder.slot == slot and not removed_if_lapsed(lock, holder) then
        broken = broken + 1
        if broken <= tonumber(ARGV[5]) then
            local of = holder.session
            parties[#parties + 1] = call('HMGET', KEYS[11], of .. ':h', of .. ':p', of .. ':l')
        end
        take_away(lock, holder)
    end
end
grant_next(lock)
finish()
if broken == 0 then
    return 0
end
note(digits(now()))
note(lock.name)
note(base)
note(slot)
note(who)
note(why)
note(tostring(broken))
for _, each in ipairs(parties) do
    note(each[1] or '')
    note(each[2] or '0')
    note(each[3] or '')
end
call('LPUSH', KEYS[12], table.concat(record))
call('LTRIM', KEYS[12], 0, ARGV[6] - 1)
return broken
