-- $1 member; returns it
SELECT member_id FROM members WHERE member_id = $1 FOR UPDATE
