-- SPDX-License-Identifier: BSL-1.0
-- Ends sessions.
local FIXED = 9  -- The fields of a session that are not entries.
local AT_ONCE = 256

-- Frees some of what a session has. The session must be dead, so that it is granted nothing.
-- @return how many entries were freed, and whether any are left.
local function bury(session)
    local hash, cursor, names = '{P}s:' .. session, '0', {}
    repeat
        local scan = call('HSCAN', hash, cursor, 'COUNT', AT_ONCE)
        local some = scan[2]
        cursor = scan[1]
        for at = 1, #some, 2 do
            local text = match(some[at], '^%d') and call('HGET', hash, some[at])
            if text then
                local entry = entry_of(text)
                remove(session, some[at], entry, true)
                names[#names + 1] = entry.name
            end
        end
    until cursor == '0' or #names >= AT_ONCE
    local left = call('HLEN', hash) > FIXED
    if not left then
        call('DEL', hash)
        call('ZREM', '{P}d', session)
        -- If nobody watches any longer, the short ways are open again.
        if call('SREM', '{P}w', session) == 1 and call('EXISTS', '{P}w') == 0 then
            call('HDEL', '{P}m', 'w')
        end
    end
    for _, name in ipairs(names) do
        grant_next(name)
    end
    return #names, left
end
