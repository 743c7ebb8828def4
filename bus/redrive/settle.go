package redrive

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/backoff"
)

// grace is how long a settlement goes on after a cancellation: letters that are published and not
// acknowledged are redriven twice.
const grace = 5 * time.Second

// graceful returns a context that ends grace after ctx.
func graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(grace, cancel)
		context.AfterFunc(later, func() { late.Stop() })
	})
	return later, func() { stop(); cancel() }
}

// settle publishes the letters to be published, then acknowledges. If it ends in between, every
// letter is published, or still pending, or both.
func (p *pass) settle(ctx context.Context) error {
	began := time.Now()
	defer func() { p.last = p.last.Add(time.Since(began)) }() // this was no wait for the transport
	if err := p.keepPace(ctx); err != nil {
		return err
	}
	ctx, end := graceful(ctx)
	defer end()
	p.unchoose()
	before, todo := p.held[:p.before], p.chosen
	p.held, p.before, p.chosen = slices.Clone(p.held[p.before:]), 0, nil
	before = slices.DeleteFunc(before, takenBack)

	if err := p.moveAway(ctx, before); err != nil {
		return err
	}
	var failed []*message.Message
	for topic, group := range byTopic(todo, p.id) {
		if topic == "" {
			continue
		}
		bad, err := p.publishAll(ctx, topic, group)
		if err != nil {
			return err
		}
		failed = append(failed, bad...)
	}
	if err := p.moveAway(ctx, failed); err != nil {
		return err
	}
	for _, c := range todo {
		switch {
		case slices.Contains(failed, c.letter):
			continue
		case c.twice:
			p.result.Duplicates++
		default:
			p.result.Done++
		}
		p.reader.done(c.letter)
	}
	p.progress()
	return nil
}

// takenBack reports whether the transport took a letter back: it is delivered again, here or to
// another instance.
func takenBack(m *message.Message) bool { return m.Context().Err() != nil }

// unchoose drops the chosen letters that the transport took back. They are not done: a letter that
// is delivered again is no duplicate of itself.
func (p *pass) unchoose() {
	p.chosen = slices.DeleteFunc(p.chosen, func(c chosen) bool {
		if !takenBack(c.letter) {
			return false
		}
		p.seen--
		if !c.twice {
			p.result.Matched--
			delete(p.done, c.key)
			if p.filter.IDs != nil {
				p.missing[c.letter.UUID] = struct{}{}
			}
		}
		return true
	})
}

// moveAway moves letters to the end of the topic.
func (p *pass) moveAway(ctx context.Context, letters []*message.Message) error {
	if len(letters) == 0 {
		return nil
	}
	copies := make([]*message.Message, len(letters))
	for i, m := range letters {
		copies[i] = moved(m, p.id)
	}
	if err := p.publish(ctx, p.topic, copies); err != nil {
		return err
	}
	for _, m := range letters {
		p.reader.done(m)
	}
	p.result.Moved += len(letters)
	return nil
}

// byTopic groups letters by the topic they are published to.
func byTopic(todo []chosen, pass string) map[string][]chosen {
	groups := map[string][]chosen{}
	for _, c := range todo {
		if c.out.stays {
			c.out.message.Metadata[movedBy] = pass
		}
		groups[c.out.topic] = append(groups[c.out.topic], c)
	}
	return groups
}

// publishAll publishes letters to a topic, if possible in one call. A letter that can never be
// published does not stop the others; it is returned.
func (p *pass) publishAll(ctx context.Context, topic string, group []chosen) (failed []*message.Message, err error) {
	messages := make([]*message.Message, len(group))
	for i, c := range group {
		messages[i] = c.out.message
	}
	err = p.publish(ctx, topic, messages)
	if err == nil || fault.Of(err) != fault.Permanent {
		return nil, err
	}
	for i, c := range group {
		if len(group) > 1 {
			err = p.publish(ctx, topic, messages[i:i+1])
		}
		switch {
		case err == nil:
		case fault.Of(err) == fault.Permanent:
			p.fail(c.letter, err)
			delete(p.done, c.key) // another letter of the key may succeed
			failed = append(failed, c.letter)
		default:
			return nil, err
		}
	}
	return failed, nil
}

func (p *pass) publish(ctx context.Context, topic string, messages []*message.Message) error {
	copies := make([]*message.Message, len(messages))
	for i, m := range messages {
		copies[i] = m.Copy() // a publisher may change the messages
		copies[i].SetContext(ctx)
	}
	if err := p.bus.Publisher().Publish(topic, copies...); err != nil {
		return fmt.Errorf("redrive: %w", err)
	}
	return nil
}

// keepPace waits until the rate allows the chosen letters.
func (p *pass) keepPace(ctx context.Context) error {
	if p.opts.Rate <= 0 || len(p.chosen) == 0 {
		return nil
	}
	now := time.Now()
	if wait := p.allowed.Sub(now); wait > 0 {
		if err := backoff.Sleep(ctx, wait); err != nil {
			return err
		}
		now = p.allowed
	}
	p.allowed = now.Add(time.Duration(float64(len(p.chosen)) / p.opts.Rate * float64(time.Second)))
	return nil
}
