-- One transaction at a time gives out lanes; readers go on.
UPDATE bus_turn SET turn = turn + 1 WHERE id = 1
