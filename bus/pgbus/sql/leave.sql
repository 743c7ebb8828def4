-- $1 topic, $2 group, $3 member.
DELETE FROM bus_members WHERE topic = $1 AND consumer = $2 AND member = $3
