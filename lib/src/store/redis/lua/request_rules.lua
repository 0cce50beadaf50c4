-- SPDX-License-Identifier: BSL-1.0
-- A request by the rules of the queue. ARGV[1]: GENERATION ID MODE[@HOLD][!]. Answers as
-- asking.lua, and l: the session is lost. ARGV[2]: ID BASE[:SLOT], a grant of this session that is
-- released first; then y or n stands before the answer.
local G, id, wish, try = match(ARGV[1], '^(%d+) (%d+) (%a%d*@?%d*)(!?)$')
if not may_act(session_of(S), G) then
    return 'l'
end
local lock = lock_at(FIRST)
local released = ''
if ARGV[2] then
    released = release(lock, match(ARGV[2], '^(%d+) (%d+):?(%d*)$')) and 'y ' or 'n '
end
local said, answered = ask(lock, id, wish, try)
finish(answered)
return released .. said
