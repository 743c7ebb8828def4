-- $1 batch id, $2 counter, $3 from, $4 to, $5 rows
INSERT INTO count_batches (batch_id, counter, processed_from, processed_to, row_count)
VALUES ($1, $2, $3, $4, $5)
