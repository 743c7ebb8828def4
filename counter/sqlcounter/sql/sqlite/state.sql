-- ?1 counter
SELECT holder, token, processed_to FROM count_flushers WHERE counter = ?1
