-- ? batch id, ? counter, ? from, ? to, ? rows
INSERT INTO count_batches (batch_id, counter, processed_from, processed_to, row_count)
VALUES (?, ?, ?, ?, ?)
