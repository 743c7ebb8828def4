-- How many lanes there are, as a row behind the tips.
SELECT -1, COUNT(*), 0 FROM {{.Messages}}_lanes
