package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/waiting"
	"github.com/millrace-go/millrace/queue"
)

// queueFlags choose the waiting rooms.
type queueFlags struct{ redis, prefix string }

func (f *queueFlags) of(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.redis, "redis", "", "URL of the Redis or the Redis Cluster (or "+redisVariable+")")
	cmd.Flags().StringVar(&f.prefix, "prefix", "", "what the application puts before all its keys (redisqueue.Config.Prefix)")
	offersURLs(cmd, "redis", redisSchemes()...)
	return cmd
}

func (a *app) queueCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use: "queue", Short: "Look into waiting rooms, and set how many may be inside",
		Long: "status and threshold ask the Redis of an application's waiting rooms how each event stands, and change what an operator may change. " +
			"They need neither its secrets nor its configuration. verify checks the draw of an opening from files, and asks no server.",
		Example: "  millrace queue status --redis redis://cache/0\n  millrace queue threshold show-1 500",
	}, a.queueStatusCommand(), a.queueThresholdCommand(), a.queueVerifyCommand())
}

// rooms opens the waiting rooms, and calls do with them.
func (a *app) rooms(f queueFlags, do func(*waiting.Rooms) error) (err error) {
	raw, err := a.url("redis", f.redis, redisVariable)
	if err != nil {
		return err
	}
	if scheme, _, _ := strings.Cut(raw, "://"); scheme == "embedded" {
		return usage("embedded:// is a Redis inside its process, and this is another one")
	}
	rooms, err := waiting.Open(raw, f.prefix)
	if err != nil {
		return usageError{err}
	}
	defer closing(rooms.Close, &err)
	return do(rooms)
}

// eventReport is an event as queue status and threshold show it.
type eventReport struct {
	Event     string      `json:"event"`
	Listed    bool        `json:"listed"` // a visitor waits or is active, or was a while ago
	Waiting   int         `json:"waiting"`
	Active    int         `json:"active"`    // places taken
	Entitled  int         `json:"entitled"`  // of those that wait: their turn has come
	Threshold *int        `json:"threshold"` // null: the application's own
	Paused    bool        `json:"paused"`
	Settling  int         `json:"settlingSeconds"` // until admission begins again after a loss of data
	Rate      float64     `json:"admissionsPerMinute"`
	Wait      *int        `json:"estimatedWaitSeconds"` // of the next visitor; null: unknown
	Gate      *gateReport `json:"gate"`                 // null: it has none
}

// gateReport is a front gate, in the words of its HTTP status.
type gateReport struct {
	Active  bool  `json:"active"`
	Next    int64 `json:"nextPosition"` // the last position given out
	Serving int64 `json:"servingCounter"`
	Waiting int64 `json:"waiting"`
	// Line: the room behind the gate knows that the gate is on, or off.
	Line bool `json:"lineInStep"`
}

func eventOf(e waiting.Event) eventReport {
	r := eventReport{
		Event: e.ID, Listed: e.Listed, Waiting: e.Waiting, Active: e.Active, Entitled: e.Entitled, Paused: e.Paused,
		Settling: seconds(e.Settling),
	}
	if e.Set {
		r.Threshold = &e.Threshold
	}
	if e.Rate.Over > 0 {
		r.Rate = math.Round(10*float64(e.Rate.Admitted)/e.Rate.Over.Minutes()) / 10
	}
	r.Wait = waitOf(e)
	if e.Gate.Epoch != 0 {
		r.Gate = &gateReport{e.Gate.On, e.Gate.Assigned, e.Gate.Serving, e.Gate.Assigned - e.Gate.Serving, e.Gate.On == e.Gated}
	}
	return r
}

// waitOf is the probable wait in s of the next visitor, nil when it is unknown. The
// threshold of an application is: then the line goes on as in the last minute.
func waitOf(e waiting.Event) *int {
	wait, known := queue.EstimateWait(e.State, e.Waiting+1)
	switch {
	case !known:
		return nil
	case e.Set && e.Waiting == 0 && e.Active < e.Threshold:
		wait = 0 // the next visitor enters
	case !e.Set && (e.Waiting == 0 || e.Rate.Admitted == 0):
		return nil
	case !e.Set:
		wait = e.Settling + time.Duration(float64(e.Waiting+1)*float64(e.Rate.Over)/float64(e.Rate.Admitted))
	}
	s := seconds(wait)
	return &s
}

// seconds rounds up, so that a visitor that has to wait never sees 0.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func (a *app) queueStatusCommand() *cobra.Command {
	var f queueFlags
	cmd := f.of(&cobra.Command{
		Use: "status [EVENT…]", Short: "Say how each event's waiting room stands",
		Long: "status shows for each event how many wait, how many of these have their turn, how many places are taken, " +
			"how many may be active, whether the room is paused, how many were let in from the line per minute, how long the last in line will probably wait, and the front gate if there is one. " +
			"Without names it shows all events where somebody waits or is active.\n\n" +
			"A threshold of \"default\" is the application's own: no operator has set one. An event that nobody has used is an error, with the nearest that is in use.",
		Example:           "  millrace queue status --redis redis://cache/0\n  millrace queue status show-1 show-2 --redis redis://h1:7001,h2:7002/ --json | jq '.events[].waiting'",
		ValidArgsFunction: a.events(&f, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rooms(f, func(rooms *waiting.Rooms) error {
				if err := used(cmd.Context(), rooms, f.prefix, args); err != nil {
					return err
				}
				return a.queueStatus(cmd.Context(), rooms, args)
			})
		},
	})
	a.jsonFlag(cmd)
	return cmd
}

// errNoEvent is part of the error about an unused event.
var errNoEvent = errors.New("nobody has used it, and it has no threshold and no front gate")

// used checks that events exist before they are read: reading creates a room.
func used(ctx context.Context, rooms *waiting.Rooms, prefix string, events []string) error {
	missing, there, err := rooms.Missing(ctx, events)
	if err != nil || missing == "" {
		return err
	}
	return fmt.Errorf("%w: %w", absent("event", missing, fmt.Sprintf("under the prefix %q", prefix), there), errNoEvent)
}

func (a *app) queueStatus(ctx context.Context, rooms *waiting.Rooms, named []string) error {
	drawn := a.progress()
	events, err := rooms.Look(ctx, named, func(done, of int) { drawn.draw("%d of %d events asked for", done, of) })
	drawn.end()
	if err != nil {
		return err
	}
	all := make([]eventReport, len(events))
	for i, e := range events {
		all[i] = eventOf(e)
	}
	return a.showEvents(all)
}

func (a *app) showEvents(all []eventReport) error {
	rows := [][]string{{"EVENT", "WAITING", "ACTIVE", "ENTITLED", "THRESHOLD", "PAUSED", "ADMITTED/MIN", "WAIT", "GATE"}}
	for _, r := range all {
		rows = append(rows, []string{
			r.Event, strconv.Itoa(r.Waiting), strconv.Itoa(r.Active), strconv.Itoa(r.Entitled), r.threshold(), yesOrNo(r.Paused),
			strconv.FormatFloat(r.Rate, 'f', -1, 64), r.wait(), r.gate(),
		})
	}
	if err := a.list(map[string]any{"events": all}, rows, "nobody waits or is active in any event"); err != nil || a.json {
		return err
	}
	for _, r := range all {
		switch {
		case !r.Listed:
			a.say("%s: nobody waits or is active there", plain(r.Event))
		case r.Settling > 0:
			a.say("%s: the room has lost its data and gathers who comes back; it lets in again in %ds", plain(r.Event), r.Settling)
		}
		if r.Gate != nil && !r.Gate.Line {
			a.say("%s: the room behind the gate does not know yet that it was switched; the application's gate tells it with its next round", plain(r.Event))
		}
	}
	return nil
}

func (r eventReport) threshold() string {
	if r.Threshold == nil {
		return "default"
	}
	return strconv.Itoa(*r.Threshold)
}

func (r eventReport) wait() string {
	if r.Wait == nil {
		return "-"
	}
	return (time.Duration(*r.Wait) * time.Second).String()
}

func (r eventReport) gate() string {
	switch {
	case r.Gate == nil:
		return "-"
	case !r.Gate.Active:
		return "off"
	}
	return fmt.Sprintf("on, %d of %d served", r.Gate.Serving, r.Gate.Next)
}
