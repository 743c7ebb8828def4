package ops

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/millrace-go/millrace/bus/redrive"
)

var (
	// ErrNoTopic is returned for a dead letter topic that no consumer has.
	ErrNoTopic = errors.New("ops: no consumer has this dead letter topic")
	// ErrPass is returned while another call of this process changes the topic.
	ErrPass = errors.New("ops: the dead letters of this topic are being redriven, dropped or edited")
)

// letters are the letters of one topic, changed by one call at a time.
type letters struct {
	*redrive.Letters
	pass sync.Mutex

	mu   sync.Mutex
	seen listing   // the last look
	at   time.Time // when it began
}

func (o *Ops) lettersOf(topic string) (*letters, error) {
	l, ok := o.letters[topic]
	if !ok {
		return nil, ErrNoTopic
	}
	return l, nil
}

// Selection chooses dead letters: by ids, or all.
type Selection struct {
	IDs    []string
	All    bool
	DryRun bool
	Rate   float64 // a second; 0 for no bound
	// Before leaves out letters that failed at that time or later, so that the next call
	// does not take letters again that failed again; zero for no bound.
	Before time.Time
}

type letterList struct {
	Topic    string       `json:"topic"`
	Pending  int          `json:"pending"`
	Seen     int          `json:"seen"`
	Complete bool         `json:"complete"` // all that are pending were looked at
	Letters  []deadLetter `json:"letters"`  // oldest first
}

// DeadLetters lists the letters of a topic, at most limit of the oldest.
func (o *Ops) DeadLetters(ctx context.Context, topic string, limit int) (any, error) {
	l, err := o.lettersOf(topic)
	if err != nil {
		return nil, err
	}
	found, err := l.List(ctx, redrive.Filter{}, limit)
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	out := letterList{topic, found.Pending, found.Seen, found.Complete, []deadLetter{}}
	for _, letter := range found.Letters {
		out.Letters = append(out.Letters, present(letter))
	}
	return out, nil
}

type letterDetail struct {
	deadLetter
	FirstFailure string            `json:"firstFailure"`
	Worker       string            `json:"worker"`
	Stack        string            `json:"stack"`
	EventError   string            `json:"eventError"` // why it is no event; "" when it is one
	Metadata     map[string]string `json:"metadata"`
	Payload      string            `json:"payload"`
	Encoding     string            `json:"encoding"` // of the payload: utf-8, or base64 for other bytes
}

// DeadLetter shows one letter with its payload.
func (o *Ops) DeadLetter(ctx context.Context, topic, id string) (any, error) {
	l, err := o.lettersOf(topic)
	if err != nil {
		return nil, err
	}
	letter, err := l.Show(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	d := letterDetail{
		deadLetter: present(letter), Worker: letter.Worker, Stack: letter.Stack,
		Metadata: letter.Metadata, Payload: string(letter.Payload), Encoding: "utf-8",
	}
	if !letter.FirstFailure.IsZero() {
		d.FirstFailure = letter.FirstFailure.UTC().Format(time.RFC3339Nano)
	}
	if letter.EventError != nil {
		d.EventError = letter.EventError.Error()
	}
	if !utf8.Valid(letter.Payload) {
		d.Payload, d.Encoding = base64.StdEncoding.EncodeToString(letter.Payload), "base64"
	}
	return d, nil
}

// EditDeadLetter replaces a letter's payload. An event stays one, with its id and
// key; redrive.ErrPayload describes the mismatch.
func (o *Ops) EditDeadLetter(ctx context.Context, topic, id string, payload []byte) error {
	l, err := o.lettersOf(topic)
	if err != nil {
		return err
	}
	if !l.pass.TryLock() {
		return ErrPass
	}
	defer l.pass.Unlock()
	err = l.Edit(ctx, id, payload)
	o.refresh(ctx, topic, lookAfter)
	if err != nil {
		return fmt.Errorf("ops: %w", err)
	}
	return nil
}

type passReport struct {
	Topic      string        `json:"topic"`
	DryRun     bool          `json:"dryRun"`
	Pending    int           `json:"pending"` // at the start
	Matched    int           `json:"matched"`
	Done       int           `json:"done"` // in a dry run: how many would be
	Duplicates int           `json:"duplicates"`
	Failed     []passFailure `json:"failed"`
	Complete   bool          `json:"complete"` // all that were pending were looked at
	// More means that the time was up: the same call, with Before, goes on.
	More   bool       `json:"more"`
	Before *time.Time `json:"before,omitempty"`
}

type passFailure struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// RedriveDeadLetters publishes letters to their original topics again. It works for
// Config.PassTime at most and returns its progress.
func (o *Ops) RedriveDeadLetters(ctx context.Context, topic string, s Selection) (any, error) {
	return o.change(ctx, topic, s, (*redrive.Letters).Redrive)
}

// DropDeadLetters deletes letters for good, with the limits of RedriveDeadLetters.
func (o *Ops) DropDeadLetters(ctx context.Context, topic string, s Selection) (any, error) {
	return o.change(ctx, topic, s, (*redrive.Letters).Drop)
}

type pass func(*redrive.Letters, context.Context, redrive.Filter, redrive.Options) (redrive.Result, error)

func (o *Ops) change(ctx context.Context, topic string, s Selection, run pass) (any, error) {
	l, err := o.lettersOf(topic)
	if err != nil {
		return nil, err
	}
	if !s.DryRun {
		if !l.pass.TryLock() {
			return nil, ErrPass
		}
		defer l.pass.Unlock()
	}
	began := time.Now().UTC()
	limited, cancel := context.WithTimeout(ctx, o.cfg.PassTime)
	defer cancel()
	f := redrive.Filter{All: s.All, IDs: s.IDs, Until: s.Before}
	res, err := run(l.Letters, limited, f, redrive.Options{Rate: s.Rate, DryRun: s.DryRun})
	out := passReport{
		Topic: topic, DryRun: s.DryRun, Pending: res.Pending, Matched: res.Matched, Done: res.Done,
		Duplicates: res.Duplicates, Failed: []passFailure{}, Complete: res.Complete,
	}
	for _, failed := range res.Failed {
		out.Failed = append(out.Failed, passFailure{failed.ID, failed.Err.Error()})
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && !s.DryRun {
		if s.Before.IsZero() {
			s.Before = began
		}
		out.More, out.Before, err = true, &s.Before, nil
	}
	if !s.DryRun {
		o.refresh(ctx, topic, lookAfter) // the operator wants to see the result
	}
	if err == nil && len(s.IDs) > 0 && res.Matched == 0 && res.Complete {
		err = redrive.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return out, nil
}
