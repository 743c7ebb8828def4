package admissions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

// Group is the consumer's group.
const Group = "admission-log"

// The longest ids that a row holds, in bytes.
const (
	maxEvent = 128
	maxUser  = 256
)

// Consumer writes a row for each notice of a topic, many in one transaction.
func (l *Log) Consumer(topic string) bus.BatchConsumer {
	return bus.BatchConsumer{
		Topic: topic, Group: Group, Handler: l.handle, Classifiers: []fault.Classifier{l.store.Classify},
	}
}

func (l *Log) handle(ctx context.Context, messages []*message.Message) error {
	failed := bus.BatchError{}
	var good []Admission
	for i, m := range messages {
		a, err := read(m.Payload)
		if err != nil {
			failed[i] = err
			continue
		}
		good = append(good, a)
	}
	if err := l.Add(ctx, good...); err != nil {
		for i := range messages {
			failed[i] = cmp.Or(failed[i], err)
		}
	}
	return failed.OrNil()
}

// read parses the fields of a notice that a row needs.
func read(payload []byte) (Admission, error) {
	var body struct {
		Action    string `json:"action"`
		EventID   string `json:"eventId"`
		UserID    string `json:"userId"`
		Timestamp int64  `json:"timestamp"`
	}
	if err := json.Unmarshal(payload, &body); err != nil {
		return Admission{}, refuse(fmt.Errorf("it is no JSON object: %w", err))
	}
	switch {
	case body.Action != "admitted":
		return Admission{}, refuse(fmt.Errorf(`"action" is %.40q; it has to be "admitted"`, body.Action))
	case !fits(body.EventID, maxEvent):
		return Admission{}, refuse(fmt.Errorf(`"eventId" is not 1 to %d bytes of text`, maxEvent))
	case !fits(body.UserID, maxUser):
		return Admission{}, refuse(fmt.Errorf(`"userId" is not 1 to %d bytes of text`, maxUser))
	case body.Timestamp <= 0 || time.UnixMilli(body.Timestamp).UTC().Year() > 9999: // JSON has no such year
		return Admission{}, refuse(errors.New(`"timestamp" is not in milliseconds since 1970`))
	}
	return Admission{EventID: body.EventID, UserID: body.UserID, AdmittedAt: time.UnixMilli(body.Timestamp).UTC()}, nil
}

func refuse(why error) error {
	return fault.MarkPermanent(fmt.Errorf("admissions: no notice: %w", why))
}

func fits(s string, most int) bool {
	return s != "" && len(s) <= most && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}
