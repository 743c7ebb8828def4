-- How far pruning came is said of rows and transactions that mean nothing any more.
-- $1 lane.
DELETE FROM {{.Messages}}_pruned WHERE lane = $1
