-- $1 batch id
SELECT count(*) FROM count_batches WHERE batch_id = $1
