-- SPDX-License-Identifier: BSL-1.0
-- Requests for several locks, one after the other, until one is not granted. ARGV[1]: GENERATION;
-- then for each lock ID MODE[@HOLD][!]. Answers with a table of what asking.lua says of each that
-- was made, or l: the session is lost.
if not may_act(session_of(S), ARGV[1]) then
    return 'l'
end
local wanted, said = {}, {}
for at = 2, #ARGV do  -- All is read before the first write.
    wanted[#wanted + 1] = lock_at(FIRST + 4 * #wanted)
end
for at, lock in ipairs(wanted) do
    said[at] = ask(lock, match(ARGV[at + 1], '^(%d+) (%a%d*@?%d*)(!?)$'))
    if sub(said[at], 1, 1) ~= 'g' then
        break
    end
end
finish()
return said
