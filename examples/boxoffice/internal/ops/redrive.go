package ops

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
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
func (l *Letters) DeadLetters(ctx context.Context, topic string, limit int) (any, error) {
	box, err := l.of(topic)
	if err != nil {
		return nil, err
	}
	found, err := box.List(ctx, redrive.Filter{}, limit)
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
func (l *Letters) DeadLetter(ctx context.Context, topic, id string) (any, error) {
	box, err := l.of(topic)
	if err != nil {
		return nil, err
	}
	letter, err := box.Show(ctx, id)
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
func (l *Letters) EditDeadLetter(ctx context.Context, topic, id string, payload []byte) error {
	box, err := l.of(topic)
	if err != nil {
		return err
	}
	if !box.pass.TryLock() {
		return ErrPass
	}
	defer box.pass.Unlock()
	err = box.Edit(ctx, id, payload)
	box.refresh(ctx, lookAfter)
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
func (l *Letters) RedriveDeadLetters(ctx context.Context, topic string, s Selection) (any, error) {
	return l.change(ctx, topic, s, (*redrive.Letters).Redrive)
}

// DropDeadLetters deletes letters for good, with the limits of RedriveDeadLetters.
func (l *Letters) DropDeadLetters(ctx context.Context, topic string, s Selection) (any, error) {
	return l.change(ctx, topic, s, (*redrive.Letters).Drop)
}

type pass func(*redrive.Letters, context.Context, redrive.Filter, redrive.Options) (redrive.Result, error)

func (l *Letters) change(ctx context.Context, topic string, s Selection, run pass) (any, error) {
	box, err := l.of(topic)
	if err != nil {
		return nil, err
	}
	if !s.DryRun {
		if !box.pass.TryLock() {
			return nil, ErrPass
		}
		defer box.pass.Unlock()
	}
	began := time.Now().UTC()
	limited, cancel := context.WithTimeout(ctx, l.passTime)
	defer cancel()
	f := redrive.Filter{All: s.All, IDs: s.IDs, Until: s.Before}
	res, err := run(box.Letters, limited, f, redrive.Options{Rate: s.Rate, DryRun: s.DryRun})
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
		box.refresh(ctx, lookAfter) // the operator wants to see the result
	}
	if err == nil && len(s.IDs) > 0 && res.Matched == 0 && res.Complete {
		err = redrive.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return out, nil
}
