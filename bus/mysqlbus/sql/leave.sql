-- ? topic, ? group, ? member.
DELETE FROM bus_members WHERE topic = ? AND consumer = ? AND member = ?
