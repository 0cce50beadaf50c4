-- SPDX-License-Identifier: BSL-1.0
-- Adds what the store has for a session: its entries, each as its id, whether others wait for the
-- lock of a grant, and its text.
local function view_of(session, into)
    local all = call('HGETALL', '{P}s:' .. session)
    for at = 1, #all, 2 do
        local id, text = all[at], all[at + 1]
        if match(id, '^%d') then
            local contended = false
            if text:sub(1, 1) == 'g' then
                contended = others_wait('{P}l:' .. entry_of(text).name, session)
            end
            into[#into + 1] = id
            into[#into + 1] = contended and '1' or '0'
            into[#into + 1] = text
        end
    end
    return into
end
