package sse

import "sync/atomic"

type counters struct {
	opened, victims, ghosts, outages, evictions, leftOver atomic.Int64
	sent, muted, duplicates, writes, written              atomic.Int64
	published, unpublished, replayed, gaps, storeErrors   atomic.Int64
	ended                                                 [reasons + 1]atomic.Int64
}

// Stats are of this process. Those in Totals only grow.
type Stats struct {
	Streams int  // open
	Members int  // with a stream
	Rooms   int  // with a stream
	Leased  bool // streams can be opened, as far as the Cap goes
	Hearing bool // events of all processes are heard

	Opened int64 // streams
	// Ended counts the streams that have ended, by reason.
	Ended struct {
		Gone     int64 // the client left
		Slow     int64 // the client did not read its frames
		Evicted  int64 // the member opened more than are allowed
		Expired  int64 // its lifetime was over
		Drained  int64 // the hub ended
		Outage   int64 // the lease could not be renewed
		Lost     int64 // the Cap did not know it any more
		Unsynced int64 // its missed events could not be read
		Refused  int64 // it was never opened
	}
	Victims    int64 // streams, of any process, that gave way to one opened here
	Outages    int64 // requests that got no stream because the Cap could not be asked, while draining, or because there were too many
	Evictions  int64 // requests of evicted tabs and for a free place where there is none, answered 204
	Ghosts     int64 // entries without a stream that were removed
	LeftOver   int64 // entries that could not be removed and wait for the end of their lifetime
	Sent       int64 // events given to streams
	Muted      int64 // events that muted members did not get
	Duplicates int64 // events that a stream had already, not sent again
	Replayed   int64 // events read from a Replayer
	Writes     int64 // to clients
	Written    int64 // bytes
	Published  int64 // messages to the broker
	Dropped    int64 // messages that the broker did not take
	Gaps       int64 // times the broker may have lost messages
	Errors     int64 // calls of the Cap that failed
}

// Stats reads the counts. It makes no calls.
func (h *Hub) Stats() Stats {
	c := &h.stats
	s := Stats{
		Opened: c.opened.Load(), Victims: c.victims.Load(), Outages: c.outages.Load(), Evictions: c.evictions.Load(),
		Ghosts: c.ghosts.Load(), LeftOver: c.leftOver.Load(), Sent: c.sent.Load(), Muted: c.muted.Load(),
		Duplicates: c.duplicates.Load(), Replayed: c.replayed.Load(), Writes: c.writes.Load(), Written: c.written.Load(),
		Dropped: c.unpublished.Load(), Gaps: c.gaps.Load(), Errors: c.storeErrors.Load(),
	}
	s.Published = c.published.Load() + s.Dropped
	s.Ended.Gone, s.Ended.Slow, s.Ended.Evicted = c.ended[endedGone].Load(), c.ended[endedSlow].Load(), c.ended[endedEvicted].Load()
	s.Ended.Expired, s.Ended.Drained, s.Ended.Outage = c.ended[endedExpired].Load(), c.ended[endedDrained].Load(), c.ended[endedOutage].Load()
	s.Ended.Lost, s.Ended.Unsynced, s.Ended.Refused = c.ended[endedLost].Load(), c.ended[endedUnsynced].Load(), c.ended[endedRefused].Load()
	s.Streams, s.Members, s.Rooms = h.audience.size()
	_, err := h.leased()
	s.Leased = err == nil
	h.mu.Lock()
	s.Hearing = h.brokerUp
	h.mu.Unlock()
	return s
}
