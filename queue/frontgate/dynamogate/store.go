package dynamogate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

type store struct {
	client *dynamodb.Client
	cfg    Config
	clock  clock

	closeIdle func() // does nothing on a client of the caller's
}

// New makes a store on a client. Its tables must exist: see
// [driver.TableStore].
func New(client *dynamodb.Client, cfg Config) (driver.TableStore, error) {
	return open(client, cfg, func() {})
}

func open(client *dynamodb.Client, cfg Config, closeIdle func()) (driver.TableStore, error) {
	if client == nil {
		return nil, errors.New("dynamogate: the client is nil; make one with dynamodb.New or dynamodb.NewFromConfig")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &store{client: client, cfg: cfg, closeIdle: closeIdle}, nil
}

// Assign gives positions out; see [driver.Store]. It writes the counter, and
// then the range that was given out.
func (s *store) Assign(ctx context.Context, event string, n int) (driver.State, error) {
	if err := driver.CheckAssign(ctx, event, n); err != nil {
		return driver.State{}, fmt.Errorf("dynamogate: assign: %w", err)
	}
	c, ok, err := s.update(ctx, event, "ADD #next :n", "#active = :yes", names{"#next": attrNext, "#active": attrActive},
		values{":n": number(int64(n)), ":yes": boolean(true)})
	if err != nil {
		return driver.State{}, failed("assign", err)
	}
	state := c.state(s.clock.now())
	if !ok {
		state.On = false
		return state, nil
	}
	if err := s.record(ctx, event, state, n); err != nil {
		return driver.State{}, failed("record the positions", err)
	}
	return state, nil
}

// record records the positions given out.
func (s *store) record(ctx context.Context, event string, state driver.State, n int) error {
	first := state.Assigned - int64(n) + 1
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.cfg.Positions,
		Item: map[string]types.AttributeValue{
			attrEvent: text(event),
			attrRange: text(fmt.Sprintf("%016d-%016d", state.Epoch, first)), // in the order of the numbers
			attrEpoch: number(int64(state.Epoch)), attrFirst: number(first), attrLast: number(state.Assigned),
			attrAssigned: number(state.Now.UnixMilli()),
			attrExpires:  number(state.Now.Add(s.cfg.Audit).Unix()),
		},
	})
	return err
}

// Keep keeps positions of members, each in an item of the table of positions; see
// [driver.Store].
func (s *store) Keep(ctx context.Context, event string, epoch uint64, asks []driver.Ask) ([]int64, error) {
	if err := driver.CheckKeep(ctx, event, epoch, asks); err != nil {
		return nil, fmt.Errorf("dynamogate: keep: %w", err)
	}
	positions := make([]int64, len(asks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(keepers)
	for i, ask := range asks {
		group.Go(func() (err error) {
			positions[i], err = s.keep(ctx, event, epoch, ask)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, failed("keep", err)
	}
	return positions, nil
}

// keepers is how many items a call of Keep reads or writes at once.
const keepers = 32

func (s *store) keep(ctx context.Context, event string, epoch uint64, ask driver.Ask) (int64, error) {
	now := s.clock.now()
	key := map[string]types.AttributeValue{attrEvent: text(event), attrRange: text(fmt.Sprintf("member-%d-%s", epoch, ask.Member))}
	if ask.Position == 0 {
		out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Positions, Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return 0, err
		}
		s.clock.hear(out.ResultMetadata)
		return keptAt(out.Item, now)
	}
	// An item that has expired may still be there.
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.cfg.Positions, Key: key,
		UpdateExpression:         aws.String("SET #position = :position, #expires = :until"),
		ConditionExpression:      aws.String("attribute_not_exists(#position) OR #expires <= :now"),
		ExpressionAttributeNames: names{"#position": attrFirst, "#expires": attrExpires},
		ExpressionAttributeValues: values{
			":position": number(ask.Position), ":until": number(now.Add(driver.Kept).Unix() + 1), ":now": number(now.Unix()),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if err != nil {
		item, refused := refusedAs(err)
		if !refused {
			return 0, err
		}
		return keptAt(item, now)
	}
	s.clock.hear(out.ResultMetadata)
	return ask.Position, nil
}

// State returns the state of the gate; see [driver.Store].
func (s *store) State(ctx context.Context, event string) (driver.State, error) {
	if err := driver.Check(ctx, event); err != nil {
		return driver.State{}, fmt.Errorf("dynamogate: state: %w", err)
	}
	c, err := s.read(ctx, event)
	if err != nil {
		return driver.State{}, failed("state", err)
	}
	return c.state(s.clock.now()), nil
}

// Advance makes a round; see [driver.Store].
func (s *store) Advance(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
	if err := driver.CheckAdvance(ctx, event, by, every); err != nil {
		return driver.Round{}, fmt.Errorf("dynamogate: advance: %w", err)
	}
	c, err := s.read(ctx, event)
	for try := 0; err == nil && try < tries; try++ {
		now := s.clock.now()
		r := driver.Round{State: c.state(now)}
		if !r.On {
			return r, nil
		}
		// A round of the near future was made by a process whose clock is ahead;
		// one of the far future is from before the clock was set back.
		past := now.Sub(time.UnixMilli(c.last))
		if every > 0 && past < every && past > -blur {
			r.Next = every - max(past, 0)
			return r, nil
		}
		moved := min(by, c.assigned-c.serving)
		if every == 0 && moved == 0 {
			return r, nil
		}
		var ok bool
		if c, ok, err = s.raise(ctx, event, c, moved, now, every > 0); ok {
			return driver.Round{State: c.state(now), Moved: moved, Next: every}, nil
		}
	}
	if err == nil {
		err = errContend
	}
	return driver.Round{}, failed("advance", err)
}

// raise raises the serving counter if it and the time of the last round have not
// changed since they were read.
func (s *store) raise(ctx context.Context, event string, seen counters, moved int64, now time.Time, round bool) (counters, bool, error) {
	change, condition := "ADD #serving :moved", "#active = :yes AND #epoch = :epoch AND #serving = :serving"
	n := names{"#serving": attrServing, "#active": attrActive, "#epoch": attrEpoch}
	v := values{":moved": number(moved), ":yes": boolean(true), ":epoch": number(seen.epoch), ":serving": number(seen.serving)}
	if round {
		change += " SET #last = :now"
		condition += " AND #last = :last"
		n["#last"], v[":now"], v[":last"] = attrAdvanced, number(now.UnixMilli()), number(seen.last)
	}
	return s.update(ctx, event, change, condition, n, v)
}

// Switch switches the gate; see [driver.Store].
func (s *store) Switch(ctx context.Context, event string, on bool) (driver.State, error) {
	if err := driver.Check(ctx, event); err != nil {
		return driver.State{}, fmt.Errorf("dynamogate: switch: %w", err)
	}
	c, err := s.read(ctx, event)
	for try := 0; err == nil && try < tries; try++ {
		now := s.clock.now()
		if state := c.state(now); state.On == on {
			return state, nil
		}
		var ok bool
		switch {
		case on && (!c.there || c.over):
			c, ok, err = s.begin(ctx, event, c, now)
		case on:
			c, ok, err = s.update(ctx, event, "SET #active = :on, #opened = #next REMOVE #expires", "#epoch = :epoch AND #active = :off",
				names{"#active": attrActive, "#opened": attrOpened, "#next": attrNext, "#expires": attrExpires, "#epoch": attrEpoch},
				values{":on": boolean(true), ":off": boolean(false), ":epoch": number(c.epoch)})
		default:
			c, ok, err = s.update(ctx, event, "SET #active = :off, #serving = #next, #expires = :until", "#epoch = :epoch AND #active = :on",
				names{"#active": attrActive, "#serving": attrServing, "#next": attrNext, "#expires": attrExpires, "#epoch": attrEpoch},
				values{":on": boolean(true), ":off": boolean(false), ":epoch": number(c.epoch), ":until": number(now.Add(driver.Kept).Unix() + 1)})
		}
		if ok {
			return c.state(now), nil
		}
	}
	if err == nil {
		err = errContend
	}
	return driver.State{}, failed("switch", err)
}

// begin makes new counters where there are none, or only expired ones.
func (s *store) begin(ctx context.Context, event string, seen counters, now time.Time) (counters, bool, error) {
	n := names{
		"#epoch": attrEpoch, "#active": attrActive, "#next": attrNext, "#serving": attrServing, "#opened": attrOpened,
		"#last": attrAdvanced, "#expires": attrExpires,
	}
	v := values{":epoch": number(now.UnixMicro()), ":on": boolean(true), ":none": number(0)}
	condition := "attribute_not_exists(#epoch)"
	if seen.there {
		condition, v[":old"], v[":off"] = "#epoch = :old AND #active = :off", number(seen.epoch), boolean(false)
	}
	return s.update(ctx, event,
		"SET #epoch = :epoch, #active = :on, #next = :none, #serving = :none, #opened = :none, #last = :none REMOVE #expires", condition, n, v)
}

// Events lists the events; see [driver.Store]. It reads the whole table of
// counters, which has an item for each event.
func (s *store) Events(ctx context.Context) ([]string, error) {
	var events []string
	pages := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{TableName: &s.cfg.Counters, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, failed("events", err)
		}
		s.clock.hear(page.ResultMetadata)
		for _, item := range page.Items {
			c, err := s.countersOf(item)
			if err != nil {
				return nil, failed("events", err)
			}
			if event, ok := item[attrEvent].(*types.AttributeValueMemberS); ok && !c.over {
				events = append(events, event.Value)
			}
		}
	}
	return events, nil
}

// tries is the number of attempts at a change when other processes were faster. A
// round made by another process needs no second attempt.
const tries = 8

type (
	names  = map[string]string
	values = map[string]types.AttributeValue
)

func (s *store) read(ctx context.Context, event string) (counters, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Counters, Key: keyOf(event), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return counters{}, err
	}
	s.clock.hear(out.ResultMetadata)
	return s.countersOf(out.Item)
}

// update changes an event's item and returns the new item; false when the condition
// did not hold, with the item as it was.
func (s *store) update(ctx context.Context, event, change, condition string, n names, v values) (counters, bool, error) {
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.cfg.Counters, Key: keyOf(event),
		UpdateExpression: &change, ConditionExpression: &condition,
		ExpressionAttributeNames: n, ExpressionAttributeValues: v,
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if err != nil {
		item, refused := refusedAs(err)
		if !refused {
			return counters{}, false, err
		}
		c, err := s.countersOf(item)
		return c, false, err
	}
	s.clock.hear(out.ResultMetadata)
	c, err := s.countersOf(out.Attributes)
	return c, err == nil, err
}

// countersOf reads an item, and says whether it is still valid: DynamoDB removes
// expired items with a delay.
func (s *store) countersOf(item map[string]types.AttributeValue) (counters, error) {
	c, err := countersOf(item)
	c.over = c.there && !c.on && c.expires > 0 && !s.clock.now().Before(time.Unix(c.expires, 0))
	return c, err
}
