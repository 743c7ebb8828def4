package queuenotice

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/queue"
)

// Config is the configuration of [Notices]. The zero value works.
type Config struct {
	// Topic is where notices are published; "queue-admitted" by default.
	Topic string
	// Token makes the entry token of a notice. Without it, or when it fails,
	// entryToken is empty, and the user gets one with the next poll.
	Token func(event, user string, e queue.Entry) (string, error)
	// Buffer is how many notices may wait to be published; 10,000 by default.
	// Notices that arrive while it is full are dropped.
	Buffer int
	// Logger gets a line when publishing begins to fail, and when it works again;
	// slog.Default() when nil.
	Logger *slog.Logger
}

// batch is how many notices go to the publisher at once.
const batch = 100

// Notices publishes admissions and turns. Make one with [New].
type Notices struct {
	publisher message.Publisher
	cfg       Config
	buffer    chan queue.Notice

	failing            bool // of Run
	published, dropped atomic.Int64
}

// New makes a Notices for any publisher. It does not close the publisher.
func New(publisher message.Publisher, cfg Config) (*Notices, error) {
	switch {
	case publisher == nil:
		return nil, errors.New("queuenotice: the publisher is nil; open a transport of package bus, or give any of Watermill's")
	case cfg.Buffer < 0:
		return nil, fmt.Errorf("queuenotice: Config.Buffer is %d; give at least 1, or 0 for 10,000", cfg.Buffer)
	}
	cfg.Topic = cmp.Or(cfg.Topic, "queue-admitted")
	cfg.Buffer = cmp.Or(cfg.Buffer, 10_000)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	return &Notices{publisher: publisher, cfg: cfg, buffer: make(chan queue.Notice, cfg.Buffer)}, nil
}

// isTurn reports whether a notice is of a turn: it has no admission yet.
func isTurn(of queue.Notice) bool { return of.Entry.ID == "" }

// Notify is for queue.Config.Notify; and for queue.Config.NotifyTurn, where readers of the
// topic know the action "turn". It never blocks.
func (n *Notices) Notify(of queue.Notice) {
	select {
	case n.buffer <- of:
	default:
		n.dropped.Add(1)
	}
}

// Counts are the numbers of notices that the publisher has taken, and of those that were
// lost: the buffer was full, or the publisher refused.
func (n *Notices) Counts() (published, dropped int64) { return n.published.Load(), n.dropped.Load() }

// Run publishes until the context ends, then the notices in the buffer, up to the
// first failure, and returns nil. It waits for a call of the publisher in flight.
func (n *Notices) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			n.drain()
			return nil
		case first := <-n.buffer:
			n.publish(first)
		}
	}
}

// drain publishes the notices in the buffer, and drops them when that fails.
func (n *Notices) drain() {
	healthy := true
	for {
		select {
		case first := <-n.buffer:
			if healthy {
				healthy = n.publish(first)
			} else {
				n.dropped.Add(1)
			}
		default:
			return
		}
	}
}

// publish publishes a notice, with those behind it that fit.
func (n *Notices) publish(first queue.Notice) bool {
	messages := []*message.Message{n.message(first)}
	for len(messages) < batch {
		select {
		case next := <-n.buffer:
			messages = append(messages, n.message(next))
			continue
		default:
		}
		break
	}
	err := n.send(messages)
	if err == nil {
		n.published.Add(int64(len(messages)))
	} else {
		n.dropped.Add(int64(len(messages)))
	}
	if failed := err != nil; failed != n.failing {
		n.failing = failed
		if failed {
			n.cfg.Logger.Warn("queuenotice: notices cannot be published and are dropped", slog.String("topic", n.cfg.Topic), slog.Any("error", err))
		} else {
			n.cfg.Logger.Info("queuenotice: notices are published again", slog.String("topic", n.cfg.Topic))
		}
	}
	return err == nil
}

func (n *Notices) send(messages []*message.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the publisher panicked: %v", p)
		}
	}()
	return n.publisher.Publish(n.cfg.Topic, messages...)
}

type body struct {
	Action     string `json:"action"`
	EventID    string `json:"eventId"`
	UserID     string `json:"userId"`
	EntryToken string `json:"entryToken"`
	Timestamp  int64  `json:"timestamp"` // ms since 1970
}

func (n *Notices) message(notice queue.Notice) *message.Message {
	action := "admitted"
	if isTurn(notice) {
		action = "turn"
	}
	payload, err := json.Marshal(body{
		Action: action, EventID: notice.Event, UserID: notice.User,
		EntryToken: n.token(notice), Timestamp: notice.Time.UnixMilli(),
	})
	if err != nil { // strings and a number are always JSON
		payload = nil
	}
	msg := message.NewMessage(id(notice), payload)
	msg.Metadata.Set(event.KeyHeader, notice.Event)
	msg.Metadata.Set(event.ContentTypeHeader, "application/json")
	return msg
}

// token is empty on a failure: a notice without a token is better than none.
func (n *Notices) token(notice queue.Notice) (token string) {
	if n.cfg.Token == nil || isTurn(notice) {
		return ""
	}
	defer func() {
		if recover() != nil {
			token = ""
		}
	}()
	token, err := n.cfg.Token(notice.Event, notice.User, notice.Entry)
	if err != nil {
		return ""
	}
	return token
}

// id is for a transport's deduplication. A user id that transports would refuse is
// hashed.
func id(notice queue.Notice) string {
	plain := notice.User + ":" + notice.Event
	if isTurn(notice) {
		plain += ":turn"
	}
	if utf8.ValidString(plain) && !strings.ContainsFunc(plain, unicode.IsControl) {
		return plain
	}
	sum := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(sum[:])
}
