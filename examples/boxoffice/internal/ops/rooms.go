package ops

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// RoomsConfig has the sources of a report on the waiting rooms of the shows. Room and
// Shows are required. They are asked in the background, once a second while reports
// are asked for: each time a call of Shows, and for each show one of Room and one of
// Gate.
type RoomsConfig struct {
	// Room is a [queue.Room].
	Room interface {
		State(ctx context.Context, event string) (queue.State, error)
	}
	// Gate is a [frontgate.Gate]; nil without one.
	Gate interface {
		Status(ctx context.Context, event string) (driver.State, error)
	}
	// Shows lists the shows in their order. A report has the first 50.
	Shows func(ctx context.Context) ([]RoomShow, error)
}

// RoomShow is a show that has a waiting room.
type RoomShow struct{ ID, Title string }

func (c *RoomsConfig) validate() error {
	if c.Room == nil || c.Shows == nil {
		return errors.New("ops: Config.Rooms is not complete: Room and Shows are required")
	}
	return nil
}

const (
	maxRooms = 50
	// roomsEvery is how often the rooms are asked, and roomsFor how long that may take.
	roomsEvery = time.Second
	roomsFor   = 5 * time.Second
	// roomsAtOnce is how many shows are asked for at a time.
	roomsAtOnce = 8
)

// rooms has the last answers of the waiting rooms.
type rooms struct {
	cfg       *RoomsConfig
	attention *attention
	wake      signal.Signal // reports are asked for again, after a while

	mu    sync.Mutex
	shows []RoomShow
	err   error // why the shows are not known
	seen  map[string]*room
}

// room is the known state of a room. The last one stays when an answer fails.
type room struct {
	state    *queue.State // nil: no answer yet
	at       time.Time    // when it was asked
	err      error
	gate     *driver.State
	gateErr  error
	admitted admissions
}

func newRooms(cfg *RoomsConfig, a *attention) *rooms {
	return &rooms{cfg: cfg, attention: a, wake: a.waker(), seen: map[string]*room{}}
}

// Run looks at the rooms while reports are asked for.
func (r *rooms) Run(ctx context.Context) {
	r.wake.Repeat(ctx, func(ctx context.Context) time.Duration {
		if !r.attention.paid() {
			return signal.Never
		}
		began := time.Now()
		r.look(ctx)
		return roomsEvery - time.Since(began)
	})
}

// look asks all rooms.
func (r *rooms) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, roomsFor)
	defer cancel()
	shows, err := r.cfg.Shows(ctx)
	if r.list(shows, err); err != nil {
		return
	}
	var all errgroup.Group
	all.SetLimit(roomsAtOnce)
	for _, show := range shows[:min(len(shows), maxRooms)] {
		all.Go(func() error {
			r.ask(ctx, show.ID)
			return nil // the report has the error
		})
	}
	_ = all.Wait()
}

// list sets the shows, and drops the others.
func (r *rooms) list(shows []RoomShow, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err = err; err != nil {
		return
	}
	r.shows = shows[:min(len(shows), maxRooms)]
	before := r.seen
	r.seen = make(map[string]*room, len(r.shows))
	for _, show := range r.shows {
		if r.seen[show.ID] = before[show.ID]; before[show.ID] == nil {
			r.seen[show.ID] = &room{}
		}
	}
}

func (r *rooms) ask(ctx context.Context, event string) {
	began := time.Now()
	var gate driver.State
	var gateErr error
	var both sync.WaitGroup
	if r.cfg.Gate != nil {
		both.Go(func() { gate, gateErr = r.cfg.Gate.Status(ctx, event) })
	}
	state, err := r.cfg.Room.State(ctx, event)
	both.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen[event]
	if seen == nil || began.Before(seen.at) {
		return // another look has a newer answer
	}
	if seen.err = err; err == nil {
		seen.state, seen.at = &state, began
		seen.admitted.add(state)
	}
	if seen.gateErr = gateErr; gateErr == nil && r.cfg.Gate != nil {
		seen.gate = &gate
	}
}

// roomsReport is the state of the waiting rooms.
type roomsReport struct {
	Shows []roomReport `json:"shows"`
	Error string       `json:"error"` // why the shows are not known
}

type roomReport struct {
	EventID    string         `json:"eventId"`
	Title      string         `json:"title"`
	AgeSeconds *float64       `json:"ageSeconds"` // of the state; null when there was no answer yet
	Error      string         `json:"error"`      // why the latest question had no answer
	State      *roomState     `json:"state"`
	Gate       *gateState     `json:"gate"` // null when there is none, or no answer yet
	GateError  string         `json:"gateError"`
	Admitted   admittedReport `json:"admitted"`
}

// roomState is the state by package queue. The counts are since the epoch began.
type roomState struct {
	Threshold int                `json:"threshold"`
	Paused    bool               `json:"paused"`
	Gated     bool               `json:"gated"`
	Settling  float64            `json:"settlingSeconds"`
	Waiting   int                `json:"waiting"`
	Active    int                `json:"active"`
	Entitled  int                `json:"entitled"`  // of those that wait
	Returning int                `json:"returning"` // of those that wait: back to a kept place
	Laned     int                `json:"laned"`     // of those that wait: their turn has come in a lane
	Stock     *int               `json:"stock"`     // for how many the show has seats; null while it is not known
	Shares    map[string]float64 `json:"shares"`    // of lanes, by name
	Joined    int64              `json:"joined"`
	Entered   int64              `json:"entered"`
	NoShows   int64              `json:"noShows"`
	Expired   int64              `json:"expired"`
	Departed  int64              `json:"departed"`
	Swept     int64              `json:"swept"`
}

type gateState struct {
	On       bool  `json:"on"`
	Assigned int64 `json:"assigned"` // positions given out
	Serving  int64 `json:"serving"`  // positions up to it may go on
}

// report is the last known state; nil without rooms.
func (r *rooms) report() *roomsReport {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &roomsReport{Shows: make([]roomReport, 0, len(r.shows)), Error: text(r.err)}
	for _, show := range r.shows {
		seen := r.seen[show.ID]
		one := roomReport{EventID: show.ID, Title: show.Title, Error: text(seen.err), GateError: text(seen.gateErr), Admitted: seen.admitted.perSecond()}
		if s := seen.state; s != nil {
			one.AgeSeconds = seconds(time.Since(seen.at))
			one.State = &roomState{
				Threshold: s.Threshold, Paused: s.Paused, Gated: s.Gated, Settling: s.Settling.Seconds(), Waiting: s.Waiting, Active: s.Active,
				Entitled: s.Entitled, Returning: s.Returning, Laned: s.Laned, Shares: sharesOf(s), Joined: s.Joined, Entered: s.Entered, NoShows: s.NoShows, Expired: s.Expired, Departed: s.Departed, Swept: s.Swept,
			}
			if s.Stock.Known {
				left := s.Stock.Left
				one.State.Stock = &left
			}
		}
		if g := seen.gate; g != nil {
			one.Gate = &gateState{On: g.On, Assigned: g.Assigned, Serving: g.Serving}
		}
		out.Shows = append(out.Shows, one)
	}
	return out
}

func sharesOf(s *queue.State) map[string]float64 {
	shares := map[string]float64{}
	for _, lane := range s.Lanes {
		if lane.Name != "" {
			shares[lane.Name] = lane.Share
		}
	}
	return shares
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
