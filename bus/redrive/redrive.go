package redrive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Options configures one Redrive or Drop. The zero value takes all letters that the filter
// selects, as fast as the transport allows.
type Options struct {
	// Limit is how many letters are taken at most; 0 means all.
	Limit int
	// Rate is how many letters are taken per second; 0 means no bound.
	Rate float64
	// DryRun takes no letter and reports the letters that would be taken.
	DryRun bool
	// Progress is called from time to time, and at the end. It must not block.
	Progress func(Result)
}

// Result is what a List, Redrive or Drop has seen and done.
type Result struct {
	// Letters are those of a List, oldest first; a letter that is in the topic twice is listed
	// once. Redrive and Drop return none.
	Letters []Letter
	// Pending is the transport's number of pending letters at the start, before the filter, or the
	// number of letters seen where it cannot tell.
	Pending    int
	Seen       int // of those, the letters that were read
	Matched    int // selected by the filter of a Redrive or Drop
	Done       int // redriven, dropped or edited; with DryRun, the letters that would be
	Duplicates int // letters that were in the topic twice, of which one was done
	Moved      int // letters that were moved to the end of the topic to reach others
	Failed     []Failure
	// Missing are the ids of the Filter that no letter seen by the pass had, in order.
	Missing []string
	// Complete reports whether all letters of the start were read. It is false when the limit or
	// the window was reached, and when another pass held some of them.
	Complete bool
}

// Failure is a letter that cannot be redriven. It stays in the dead letter topic.
type Failure struct {
	ID  string
	Err error
}

// Redrive publishes the selected letters to their original topics, with their id and bytes,
// without the metadata of the failure, and with bus/driver.DLQRedrive. A letter is published before it
// is acknowledged.
//
// Redrive takes the letters that exist when it begins: a message that fails again later waits
// for the next Redrive. After an error or the end of ctx, the letters done stay done and
// the rest is pending; the Result tells how many.
func (l *Letters) Redrive(ctx context.Context, f Filter, o Options) (Result, error) {
	return l.change(ctx, f, o, true, func(m *message.Message, letter Letter) (outgoing, error) {
		if letter.OriginalTopic == "" {
			return outgoing{}, errors.New("redrive: the letter does not say which topic it comes from (dlq_original_topic)")
		}
		return outgoing{topic: letter.OriginalTopic, message: redriven(m)}, nil
	})
}

// Drop acknowledges the selected letters, and so discards them.
func (l *Letters) Drop(ctx context.Context, f Filter, o Options) (Result, error) {
	return l.change(ctx, f, o, false, func(*message.Message, Letter) (outgoing, error) { return outgoing{}, nil })
}

func (l *Letters) change(ctx context.Context, f Filter, o Options, redrives bool, act action) (Result, error) {
	switch {
	case f.empty():
		return Result{}, errEmptyFilter
	case o.Limit < 0:
		return Result{}, fmt.Errorf("redrive: Limit is %d; give at least 1, or 0 for all", o.Limit)
	case o.Rate < 0:
		return Result{}, fmt.Errorf("redrive: Rate is %g; give letters per second, or 0 for no bound", o.Rate)
	}
	if o.DryRun {
		return l.rehearse(ctx, f, o, act)
	}
	return l.pass(ctx, f, o, act, Letter.key, redrives)
}

// rehearse counts the effects of a pass.
func (l *Letters) rehearse(ctx context.Context, f Filter, o Options, act action) (Result, error) {
	found, err := l.List(ctx, f, o.Limit)
	res := Result{Pending: found.Pending, Seen: found.Seen, Complete: found.Complete}
	done, missing := map[string]version{}, idSet(f.IDs)
	for _, letter := range found.Letters {
		delete(missing, letter.ID)
		if did, twice := done[letter.key()]; twice && !newer(did, letter) {
			res.Duplicates++ // of several groups, counted as in a pass
			continue
		}
		res.Matched++
		m := message.NewMessage(letter.ID, letter.Payload)
		m.Metadata = letter.Metadata
		if _, err := act(m, letter); err != nil {
			res.Failed = append(res.Failed, Failure{letter.ID, err})
			continue
		}
		done[letter.key()] = version{letter.Redrives, letter.Edits}
		res.Done++
	}
	res.Missing = slices.Sorted(maps.Keys(missing))
	if o.Progress != nil && err == nil {
		o.Progress(res)
	}
	return res, err
}

func idSet(ids []string) map[string]struct{} {
	set := make(map[string]struct{}, len(ids))
	for _, id := range ids {
		set[id] = struct{}{}
	}
	return set
}

// Edit replaces the payload of the letters with the id, in every group. It keeps id and
// metadata. If the letter is an event, Edit refuses a payload that is not an event, or that has
// another id or key. The edited letter is moved to the end of the topic.
func (l *Letters) Edit(ctx context.Context, id string, payload []byte) error {
	res, err := l.pass(ctx, Filter{IDs: []string{id}}, Options{}, func(m *message.Message, _ Letter) (outgoing, error) {
		out, err := replaced(m, payload)
		if err != nil {
			return outgoing{}, err
		}
		return outgoing{topic: l.topic, message: out, stays: true}, nil
	}, Letter.own, false)
	switch {
	case err != nil:
		return err
	case len(res.Failed) > 0:
		return res.Failed[0].Err
	case res.Done > 0:
		return nil
	default:
		return l.notFound(id, res.Complete)
	}
}
