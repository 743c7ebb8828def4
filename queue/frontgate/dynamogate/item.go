package dynamogate

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// counters are an event's item.
type counters struct {
	there                           bool // there is an item
	over                            bool // which has expired, and counts as none
	epoch                           int64
	on                              bool
	assigned, serving, opened, last int64
	expires                         int64
}

// countersOf reads an item; an empty item has no counters.
func countersOf(item map[string]types.AttributeValue) (counters, error) {
	c := counters{there: len(item) > 0}
	if !c.there {
		return c, nil
	}
	active, ok := item[attrActive].(*types.AttributeValueMemberBOOL)
	if !ok {
		return c, fmt.Errorf("%w: %s is no boolean", errItem, attrActive)
	}
	c.on = active.Value
	for _, n := range [...]struct {
		name     string
		into     *int64
		optional bool
	}{
		{attrEpoch, &c.epoch, false}, {attrNext, &c.assigned, false}, {attrServing, &c.serving, false},
		{attrOpened, &c.opened, false}, {attrAdvanced, &c.last, true}, {attrExpires, &c.expires, true},
	} {
		if n.optional && item[n.name] == nil {
			continue
		}
		var err error
		if *n.into, err = numberOf(item, n.name); err != nil {
			return c, err
		}
	}
	return c, nil
}

// numberOf is a number of an item.
func numberOf(item map[string]types.AttributeValue, name string) (int64, error) {
	v, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("%w: %s is no number", errItem, name)
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %s is no whole number", errItem, name)
	}
	return n, nil
}

// state is the state by the counters; without counters the epoch is 0.
func (c counters) state(now time.Time) driver.State {
	if !c.there || c.over {
		return driver.State{Now: now}
	}
	return driver.State{
		Epoch: uint64(c.epoch), On: c.on, Assigned: c.assigned, Serving: c.serving, Opened: c.opened, Now: now,
	}
}

// keptAt is the position of a member's item, and 0 without one that is still kept.
func keptAt(item map[string]types.AttributeValue, now time.Time) (int64, error) {
	if len(item) == 0 {
		return 0, nil
	}
	position, err := numberOf(item, attrFirst)
	if err != nil {
		return 0, err
	}
	expires, err := numberOf(item, attrExpires)
	if err != nil || !now.Before(time.Unix(expires, 0)) {
		return 0, err
	}
	return position, nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func boolean(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

func keyOf(event string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{attrEvent: text(event)}
}
