-- One transaction at a time gives out lanes; readers go on.
LOCK TABLE bus_topics IN SHARE ROW EXCLUSIVE MODE
