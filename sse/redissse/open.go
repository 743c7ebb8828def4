package redissse

import (
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse/driver"
)

// remembered is the least number of evicted tabs of a member that are remembered.
const remembered = 32

// Open registers a connection; see [driver.Cap].
func (c *connections) Open(ctx context.Context, r driver.Rules, live driver.Live, conn driver.Conn) (driver.Opened, error) {
	const what = "open a stream"
	err := checkRules(what, r)
	if err == nil {
		err = checkConn(what, conn)
	}
	if err != nil {
		return driver.Opened{}, err
	}
	args := append(ghostArgs(r, live), conn.ID, conn.Token, r.Max, remembered, r.NoVictims, len(live.Gone))
	for _, id := range slices.Concat(live.Gone, live.Silent) {
		args = append(args, id)
	}
	answer, err := c.run(ctx, c.scripts.open, c.keys.of(conn.Member), args...).Slice()
	if err != nil {
		return driver.Opened{}, c.failed(what, err)
	}
	if len(answer) > 0 && answer[0] == "evicted" {
		return driver.Opened{}, fmt.Errorf("redissse: %s: %w", what, fault.MarkPermanent(driver.ErrEvicted))
	}
	opened, ok := readOpened(conn.Member, answer)
	if !ok {
		return driver.Opened{}, c.failed(what, errAnswer)
	}
	if opened.Full != nil {
		return opened, nil
	}
	// After the script. A sweep that forgets the member at this moment then either
	// looks again and finds the entry, or this puts the member back.
	if _, err := c.register.Do(ctx, conn.Member); err != nil {
		return driver.Opened{}, c.failed(what, err)
	}
	return opened, nil
}

// ghostArgs are the arguments of ghosts.lua.
func ghostArgs(r driver.Rules, live driver.Live) []any {
	args := make([]any, 0, 8+len(live.Instances))
	args = append(args, ms(r.Lifetime), live.At.UnixMilli(), len(live.Instances))
	for _, instance := range live.Instances {
		args = append(args, instance)
	}
	return args
}

func readOpened(member string, answer []any) (o driver.Opened, ok bool) {
	if len(answer) == 1 && answer[0] == "known" {
		return o, true
	}
	if len(answer) < 2 || answer[0] != "opened" && answer[0] != "full" {
		return o, false
	}
	ghosts, ok := answer[1].(int64)
	if !ok {
		return o, false
	}
	o.Ghosts = int(ghosts)
	if answer[0] == "full" {
		o.Full, ok = readConns(member, answer[2:])
		return o, ok
	}
	if len(answer) < 3 {
		return o, false
	}
	replaced, ok1 := answer[2].(int64)
	conns, ok2 := readConns(member, answer[3:])
	if !ok1 || !ok2 || replaced < 0 || replaced > int64(len(conns)) {
		return o, false
	}
	if replaced > 0 {
		o.Replaced = conns[:replaced:replaced]
	}
	if len(conns) > int(replaced) {
		o.Evicted = conns[replaced:]
	}
	return o, true
}

// readConns reads connections and tokens in turn.
func readConns(member string, answer []any) (conns []driver.Conn, ok bool) {
	if len(answer)%2 != 0 {
		return nil, false
	}
	conns = make([]driver.Conn, 0, len(answer)/2)
	for i := 0; i < len(answer); i += 2 {
		conns = append(conns, driver.Conn{Member: member, ID: fmt.Sprint(answer[i]), Token: fmt.Sprint(answer[i+1])})
	}
	return conns, true
}
