package ops

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

// chat reads the figures of this process; nil in one without a chat.
func (o *Ops) chat() *chatReport {
	if o.cfg.Chat == nil {
		return nil
	}
	s := o.cfg.Chat()
	return &chatReport{
		Sockets: s.Sockets, Rooms: s.Rooms, Backlog: s.Waiting, Sent: s.Sent, Stored: s.Stored, ToldLive: s.ToldLive,
		Dropped: s.Dropped, Failed: s.Failed, DeadLettered: s.DeadLettered,
	}
}
