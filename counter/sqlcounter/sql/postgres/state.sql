-- $1 counter
SELECT holder, token, processed_to, {{server}} FROM count_flushers WHERE counter = $1
