package ops

import "github.com/millrace-go/millrace/examples/boxoffice/internal/chat"

// chatReport has the figures of this process's chat. The counts are since its start.
type chatReport struct {
	Sockets int `json:"sockets"` // open
	Rooms   int `json:"rooms"`   // with an open socket
	Backlog int `json:"backlog"` // events that wait for the live streams

	Sent         int64 `json:"sent"` // accepted
	Stored       int64 `json:"stored"`
	ToldLive     int64 `json:"toldLive"` // handed to the live streams
	Dropped      int64 `json:"dropped"`  // not handed on, since the backlog was full
	Failed       int64 `json:"failed"`   // tries to store one
	DeadLettered int64 `json:"deadLettered"`
}

// reportChat reads the figures of this process; nil in one without a chat.
func reportChat(stats func() chat.Stats) *chatReport {
	if stats == nil {
		return nil
	}
	s := stats()
	return &chatReport{
		Sockets: s.Sockets, Rooms: s.Rooms, Backlog: s.Waiting, Sent: s.Sent, Stored: s.Stored, ToldLive: s.ToldLive,
		Dropped: s.Dropped, Failed: s.Failed, DeadLettered: s.DeadLettered,
	}
}
