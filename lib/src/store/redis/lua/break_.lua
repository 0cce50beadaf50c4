-- SPDX-License-Identifier: BSL-1.0
-- ARGV: a lock, BASE and SLOT of a grant, who breaks it and why, how many holders a record names,
-- how many records are kept. Takes the lock from all grants with that base and slot.
-- Says how many there were.
local name, base, slot, who, why = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local key, broken, record = '{P}l:' .. name, 0, {}

local function note(text)
    record[#record + 1] = #text .. ':' .. text
end

local parties = {}
unfold(name)
for _, member in ipairs(call('ZRANGEBYSCORE', key, '-inf', '(0')) do
    local session, id = parts(member)
    local read = call('HMGET', '{P}s:' .. session, id, 'h', 'p', 'l')
    local entry = read[1] and entry_of(read[1])
    if not entry then
        orphan(name, member)
    elseif entry.base == base and entry.slot == slot and holding(name, session, id, member) then
        broken = broken + 1
        if broken <= tonumber(ARGV[6]) then
            parties[#parties + 1] = read
        end
        take_away(session, id, entry)
    end
end
if broken == 0 then
    grant_next(name)
    finish()
    return 0
end
note(digits(now()))
note(name)
note(base)
note(slot)
note(who)
note(why)
note(tostring(broken))
for _, each in ipairs(parties) do
    note(each[2])
    note(each[3])
    note(each[4])
end
call('LPUSH', '{P}b', table.concat(record))
call('LTRIM', '{P}b', 0, ARGV[7] - 1)
grant_next(name)
finish()
return broken
