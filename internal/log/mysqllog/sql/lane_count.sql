-- How many lanes there are, as a row behind the tips. The condition is for MySQL, which
-- starts threads to count a whole table.
SELECT -1, COUNT(*), 0 FROM {{.Messages}}_lanes WHERE lane >= 0
