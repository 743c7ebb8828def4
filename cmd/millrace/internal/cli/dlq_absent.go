package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
)

// letters are the dead letters of a topic that exists.
type letters struct {
	*redrive.Letters
	topic string
	bus   *bus.Bus
}

// openLetters finds the topic without creating it: a subscription would.
func openLetters(ctx context.Context, b *bus.Bus, topic string) (letters, error) {
	l, err := redrive.New(b, topic, redrive.Config{})
	if err != nil {
		return letters{}, usageError{err}
	}
	return letters{l, topic, b}, hasTopic(ctx, b, topic)
}

// hasTopic is the error about a topic that does not exist, with the nearest that does.
func hasTopic(ctx context.Context, b *bus.Bus, topic string) error {
	there, err := b.Topics(ctx, topic)
	if err == nil && len(there) == 0 {
		names, lerr := b.Topics(ctx)
		if lerr != nil && !errors.Is(lerr, errors.ErrUnsupported) {
			return lerr
		}
		err = absent("topic", topic, onTransport, names)
	}
	return err
}

const onTransport = "on the transport"

// withoutTables is the error for a transport in a database without its tables: opening the
// transport would create them.
func withoutTables(ctx context.Context, rawURL, topic string) (err error) {
	if _, err := database.DialectOf(rawURL); err != nil {
		return nil // another transport
	}
	// mode=tx has tables of its own for each topic.
	if u, err := url.Parse(rawURL); err == nil && u.Query().Get("mode") == "tx" {
		return nil
	}
	state, err := busState(ctx, rawURL)
	if err == nil && state.Missing() && topic == "" {
		err = errors.New("the transport has no tables in this database")
	} else if err == nil && state.Missing() {
		err = absent("topic", topic, onTransport+", which has no tables in this database", nil)
	}
	return err
}

// all are the letters of the topic, as far as they can be read.
func (l letters) all(ctx context.Context) (redrive.Result, error) {
	return l.List(ctx, redrive.Filter{}, 0)
}

// nearestID adds to the error about an id that no letter has the nearest id of a letter.
func (l letters) nearestID(ctx context.Context, id string, err error) error {
	if !errors.Is(err, redrive.ErrNotFound) {
		return err
	}
	all, lerr := l.all(ctx)
	if lerr != nil {
		return err // the first error is more useful
	}
	return fmt.Errorf("%w%s", err, nearestText(id, idsOf(all.Letters)))
}

func idsOf(all []redrive.Letter) (ids []string) {
	for _, letter := range all {
		ids = append(ids, letter.ID)
	}
	return ids
}

// chosenNone is the error of a filter that chose nothing because it names a group or a
// topic that does not exist. A topic without letters has no groups to compare with, and
// letters that could not be read may be of the group.
func (l letters) chosenNone(ctx context.Context, f redrive.Filter) error {
	if f.Group == "" && f.OriginalTopic == "" {
		return nil
	}
	all, err := l.all(ctx)
	if err != nil || len(all.Letters) == 0 || !all.Complete {
		return err
	}
	groups, topics := map[string]bool{}, map[string]bool{}
	for _, letter := range all.Letters {
		groups[letter.Group], topics[letter.OriginalTopic] = true, true
	}
	// A group or topic may exist and have no letters.
	lags, err := l.bus.Lag(ctx)
	if err != nil {
		return err
	}
	for _, lag := range lags {
		groups[lag.Group], topics[lag.Topic] = true, true
	}
	if f.Group != "" && !groups[f.Group] {
		return absent("group", f.Group, onTransport, keys(groups))
	}
	if f.OriginalTopic == "" || topics[f.OriginalTopic] {
		return nil
	}
	if there, err := l.bus.Topics(ctx, f.OriginalTopic); err != nil || len(there) > 0 {
		return err
	}
	return absent("topic", f.OriginalTopic, onTransport, keys(topics))
}

func keys(set map[string]bool) (names []string) {
	for name := range set {
		if name != "" && name != driver.RedriveGroup {
			names = append(names, name)
		}
	}
	return names
}
