package redrive

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

// action returns the message to publish for a selected letter.
type action func(*message.Message, Letter) (outgoing, error)

// outgoing is a message to publish before a letter is acknowledged; none when topic is empty.
type outgoing struct {
	topic   string
	message *message.Message
	stays   bool // in the dead letter topic
}

// pass reads the pending letters once.
//
// A transport may store only the longest acknowledged prefix, so a letter can be settled durably
// only when every letter before it is. The unselected letters before a selected one are
// therefore moved to the end of the topic: published again, marked, and acknowledged. The
// letters behind the last selected one are handed back unchanged.
type pass struct {
	*Letters
	*reader
	id       string
	redrives bool // the pass redrives letters
	filter   Filter
	opts     Options
	act      action
	key      func(Letter) string // equal for letters of which one is done
	result   Result

	held    []*message.Message // not selected, or not to be done now
	ours    []*message.Message // moved to the end by this pass, and read again
	chosen  []chosen
	before  int                // how many of held are before the last selected letter
	done    map[string]version // letters that this pass has done
	missing map[string]struct{}
	start   time.Time
	last    time.Time // since when the pass waits for another letter that was there at the start
	allowed time.Time // when the rate allows the next letter
}

type chosen struct {
	letter *message.Message
	out    outgoing
	key    string
	twice  bool // a letter with the same key was done already
}

// together is the most letters that are published at once.
const together = 100

func (l *Letters) pass(ctx context.Context, f Filter, o Options, act action, key func(Letter) string, redrives bool) (_ Result, err error) {
	r, err := l.open(ctx, l.cfg.Window)
	if err != nil {
		return Result{}, err
	}
	defer r.close(&err)
	p := &pass{
		Letters: l, reader: r, id: uuid.NewString(), filter: f, opts: o, act: act, key: key, redrives: redrives,
		start: time.Now(), done: map[string]version{}, missing: idSet(f.IDs),
	}
	p.result.Pending, p.last = r.pending, p.start
	err = p.run(ctx)
	p.result.Seen, p.result.Complete = r.seen, p.result.Complete && err == nil
	p.result.Missing = slices.Sorted(maps.Keys(p.missing))
	p.progress()
	return p.result, err
}

// run reads until every letter that was there at the start was seen.
func (p *pass) run(ctx context.Context) error {
	for {
		within, patient := p.within()
		m, err := p.next(ctx, within)
		if err != nil {
			return err
		}
		switch {
		case m != nil:
			if end := p.take(m); end {
				p.result.Complete = p.complete()
				return p.settle(ctx)
			}
			if len(p.chosen) >= p.chunk() {
				err = p.settle(ctx)
			}
			if err == nil {
				var full bool
				if full, err = p.makeRoom(ctx); full {
					return err
				}
			}
		case len(p.chosen) > 0:
			err = p.settle(ctx)
		case patient:
			// A transport may hand over nothing behind unacknowledged letters.
			p.before = len(p.held)
			err = p.settle(ctx)
		default:
			p.result.Complete = p.complete() || !p.known
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// within returns how long to wait for the next letter, and whether to continue when none
// arrives.
func (p *pass) within() (within time.Duration, patient bool) {
	const moment, stall = 5 * time.Millisecond, 2 * time.Second
	if len(p.chosen) > 0 {
		return moment, true // the time allowed to fill a batch
	}
	left := p.patience() - time.Since(p.last)
	if p.known && left > stall {
		return stall, true
	}
	return max(left, 0), false
}

// chunk is how many letters are settled together.
func (p *pass) chunk() int {
	if p.opts.Rate > 0 {
		return max(1, min(together, int(p.opts.Rate/10)))
	}
	return together
}

// take decides about a letter; end means that the pass needs no more letters.
func (p *pass) take(m *message.Message) (end bool) {
	if m.Metadata[movedBy] == p.id {
		p.ours = append(p.ours, m)
		return false
	}
	letter := read(m)
	key := p.key(letter)
	did, twice := p.done[key]
	if twice {
		p.unchoose() // perhaps this is the same letter, delivered again
		did, twice = p.done[key]
	}
	failedAgain := twice && p.redrives && letter.Redrives > did.redrives
	// The worker's clock may differ from ours, so this only decides about letters beyond those
	// that the transport has counted.
	late := p.complete() && letter.LastFailure.After(p.start)
	if failedAgain || late {
		p.held = append(p.held, m)
		return false
	}
	p.seen++
	p.last = time.Now()
	switch {
	case !p.filter.matches(letter):
		p.held = append(p.held, m)
	case twice && !newer(did, letter):
		p.choose(chosen{letter: m, twice: true})
	default:
		p.result.Matched++
		delete(p.missing, letter.ID)
		out, err := p.act(m, letter)
		if err != nil {
			p.fail(m, err)
			p.held = append(p.held, m)
			break
		}
		p.done[key] = version{letter.Redrives, letter.Edits}
		p.choose(chosen{letter: m, out: out, key: key})
	}
	return p.opts.Limit > 0 && p.result.Matched == p.opts.Limit
}

func (p *pass) choose(c chosen) {
	p.chosen = append(p.chosen, c)
	if !p.bus.Capabilities().IndividualAcks {
		p.before = len(p.held)
	}
}

func (p *pass) fail(m *message.Message, err error) {
	p.result.Failed = append(p.result.Failed, Failure{m.UUID, err})
}

// makeRoom moves held letters to the end of the topic when they take too much of the window;
// full means that the pass has to end.
func (p *pass) makeRoom(ctx context.Context) (full bool, err error) {
	c := p.bus.Capabilities()
	room := p.cfg.Window / 2
	if c.SerialGroups || c.OneAtATime {
		room = 1 // no letter follows an unacknowledged one
	}
	switch {
	case len(p.held)+len(p.ours) < room:
		return false, nil
	case c.OneAtATime && len(p.held) == 0:
		return false, nil // one round in one partition; letters of other partitions may follow
	}
	if len(p.held) == 0 || p.complete() || p.filter.IDs != nil && len(p.missing) == 0 {
		p.result.Complete = p.complete()
		return true, p.settle(ctx) // one round, or all seen or found
	}
	p.before = len(p.held)
	return false, p.settle(ctx)
}

func (p *pass) progress() {
	if p.opts.Progress == nil {
		return
	}
	r := p.result
	r.Seen, r.Failed = p.seen, slices.Clone(r.Failed)
	p.opts.Progress(r)
}
