-- Whether another holder's lease is valid. A look before the write, so that
-- standbys that ask again and again do not queue for the write lock.
-- ?1 consumer, ?2 lane, ?3 holder.
SELECT count(*) > 0 FROM {{.Cursors}}
WHERE consumer = ?1 AND lane = ?2 AND lease_holder <> ?3 AND lease_until > {{now}}
