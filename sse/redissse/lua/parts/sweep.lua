-- Removes the ghosts of a member.
-- KEYS and ARGV as in ghosts.lua
-- returns how many there were, and how many entries are left
return {purge(), call('ZCARD', STREAMS)}
