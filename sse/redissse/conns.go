package redissse

import (
	"context"

	"github.com/millrace-go/millrace/sse/driver"
)

// Gone says which connections are not registered any more; see [driver.Cap].
func (c *connections) Gone(ctx context.Context, conns []driver.Conn) ([]driver.Missing, error) {
	const what = "look for streams"
	if err := checkConns(what, conns); err != nil || len(conns) == 0 {
		return nil, err
	}
	groups := byMember(conns)
	asks := make([]ask, len(groups))
	for i, group := range groups {
		args := []any{len(group)}
		for _, conn := range group {
			args = append(args, conn.ID, conn.Token)
		}
		asks[i] = ask{c.keys.of(group[0].Member), args}
	}
	answers, err := c.runAll(ctx, c.scripts.gone, asks)
	if err != nil {
		return nil, c.failed(what, err)
	}
	var missing []driver.Missing
	for i, group := range groups {
		states, err := answers[i].Int64Slice()
		if err == nil && len(states) != len(group) {
			err = errAnswer
		}
		if err != nil {
			return nil, c.failed(what, err)
		}
		for j, state := range states {
			if state != 0 {
				missing = append(missing, driver.Missing{Conn: group[j], Evicted: state == 2})
			}
		}
	}
	return missing, nil
}

// Close removes connections; see [driver.Cap].
func (c *connections) Close(ctx context.Context, conns []driver.Conn) error {
	const what = "close streams"
	if err := checkConns(what, conns); err != nil || len(conns) == 0 {
		return err
	}
	groups := byMember(conns)
	asks := make([]ask, len(groups))
	for i, group := range groups {
		asks[i].keys = c.keys.of(group[0].Member)[:2]
		for _, conn := range group {
			asks[i].args = append(asks[i].args, conn.ID)
		}
	}
	if _, err := c.runAll(ctx, c.scripts.close, asks); err != nil {
		return c.failed(what, err)
	}
	return nil
}

// byMember groups connections, in the order in which members come first.
func byMember(conns []driver.Conn) [][]driver.Conn {
	at := make(map[string]int, len(conns))
	var groups [][]driver.Conn
	for _, conn := range conns {
		i, known := at[conn.Member]
		if !known {
			i = len(groups)
			at[conn.Member] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], conn)
	}
	return groups
}
