package ops

import "github.com/millrace-go/millrace/sse"

// streamsReport has the figures of this process's live streams. The counts are since
// its start.
type streamsReport struct {
	Open    int  `json:"open"`
	Members int  `json:"members"` // with a stream
	Rooms   int  `json:"rooms"`   // with a stream
	Leased  bool `json:"leased"`  // streams can be opened
	Hearing bool `json:"hearing"` // events of all processes are heard

	Opened  int64 `json:"opened"`
	Evicted int64 `json:"evicted"` // ended because the member opened too many
	Slow    int64 `json:"slow"`    // ended because the client did not read
	Outage  int64 `json:"outage"`  // ended because Redis was away
	Refused int64 `json:"refused"` // requests that got none because it was
	Away    int64 `json:"away"`    // requests of tabs that had been evicted
	Sent    int64 `json:"sent"`    // events
	Dropped int64 `json:"dropped"` // events that could not be sent
}

// reportStreams reads the figures of this process; nil in one without streams.
func reportStreams(stats func() sse.Stats) *streamsReport {
	if stats == nil {
		return nil
	}
	s := stats()
	return &streamsReport{
		Open: s.Streams, Members: s.Members, Rooms: s.Rooms, Leased: s.Leased, Hearing: s.Hearing,
		Opened: s.Opened, Evicted: s.Ended.Evicted, Slow: s.Ended.Slow, Outage: s.Ended.Outage,
		Refused: s.Outages, Away: s.Evictions, Sent: s.Sent, Dropped: s.Dropped,
	}
}
