package redrive

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

// action says what becomes of a chosen letter.
type action func(*message.Message, Letter) (outgoing, error)

// outgoing is what is published before a letter is acknowledged; nothing when it
// has no topic.
type outgoing struct {
	topic   string
	message *message.Message
	stays   bool // in the dead letter topic
}

// pass goes through the pending letters once.
//
// A transport may remember no more than the longest prefix that was acknowledged,
// so a letter can be settled for good only when everything before it is. What was
// not chosen and stands before a chosen letter is therefore put to the end of the
// topic: published again, marked, and acknowledged. What stands behind the last
// chosen one is handed back untouched.
type pass struct {
	*Letters
	*reader
	id       string
	redrives bool // what it does to a letter
	filter   Filter
	opts     Options
	act      action
	result   Result

	held    []*message.Message // not chosen, or not to be done now
	ours    []*message.Message // put to the end by this pass, and met again
	chosen  []chosen
	before  int                // how many of held stand before the last chosen one
	done    map[string]version // what this pass has done
	missing map[string]struct{}
	start   time.Time
	last    time.Time // when the last letter came that was there at the start
	allowed time.Time // when the rate allows the next letter
}

type chosen struct {
	letter *message.Message
	out    outgoing
	key    string
	twice  bool // its like was done already
}

// together is how many letters are published at once at most.
const together = 100

func (l *Letters) pass(ctx context.Context, f Filter, o Options, act action, redrives bool) (_ Result, err error) {
	r, err := l.open(ctx, l.cfg.Window)
	if err != nil {
		return Result{}, err
	}
	defer r.close(&err)
	p := &pass{
		Letters: l, reader: r, id: uuid.NewString(), filter: f, opts: o, act: act, redrives: redrives,
		start: time.Now(), done: map[string]version{}, missing: idSet(f.IDs),
	}
	p.result.Pending, p.last = r.pending, p.start
	err = p.run(ctx)
	p.result.Seen, p.result.Complete = r.seen, p.result.Complete && err == nil
	p.result.Missing = slices.Sorted(maps.Keys(p.missing))
	p.progress()
	return p.result, err
}

// run reads until everything that was there at the start was seen.
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
			// A transport may hand over nothing behind what is unacknowledged.
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

// within says how long to wait for the next letter, and whether to go on when
// none comes.
func (p *pass) within() (within time.Duration, patient bool) {
	const moment, stall = 5 * time.Millisecond, 2 * time.Second
	if len(p.chosen) > 0 {
		return moment, true // so much for filling a batch
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

// take decides what becomes of a letter; end means that the pass wants no more.
func (p *pass) take(m *message.Message) (end bool) {
	if m.Metadata[movedBy] == p.id {
		p.ours = append(p.ours, m)
		return false
	}
	letter := read(m)
	did, twice := p.done[letter.key()]
	failedAgain := twice && p.redrives && letter.Redrives > did.redrives
	// The worker's clock may be another than ours, so this only decides what to
	// do about letters beyond those that the transport has counted.
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
		p.done[letter.key()] = version{letter.Redrives, letter.Edits}
		p.choose(chosen{letter: m, out: out, key: letter.key()})
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

// makeRoom puts what is held to the end of the topic when there is too much of
// it for the window; full means that the pass has to end.
func (p *pass) makeRoom(ctx context.Context) (full bool, err error) {
	c := p.bus.Capabilities()
	room := p.cfg.Window / 2
	if c.SerialGroups || c.OneAtATime {
		room = 1 // nothing comes behind an unacknowledged one
	}
	switch {
	case len(p.held)+len(p.ours) < room:
		return false, nil
	case c.OneAtATime && len(p.held) == 0:
		return false, nil // round once in one partition; letters of others may come
	}
	if len(p.held) == 0 || p.complete() || p.filter.IDs != nil && len(p.missing) == 0 {
		p.result.Complete = p.complete()
		return true, p.settle(ctx) // round once, or all seen or found
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
