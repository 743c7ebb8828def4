package redisbus

import "fmt"

// granted is a lease as lease.lua gives it.
type granted struct {
	token, count int64
	id           string // the last message done
	made         bool   // the group is new
}

func leaseOf(answer []any) (g granted, err error) {
	if len(answer) == 5 {
		token, ok1 := answer[1].(int64)
		id, ok2 := answer[2].(string)
		count, ok3 := answer[3].(int64)
		made, ok4 := answer[4].(int64)
		if ok1 && ok2 && ok3 && ok4 {
			return granted{token: token, count: count, id: id, made: made == 1}, nil
		}
	}
	return g, fmt.Errorf("the lease's script returned %v", answer)
}

// backlogOf reads the answer of backlog.lua; fewer than four values mean that the group
// does not exist.
func backlogOf(answer []any) (b backlog, err error) {
	if len(answer) != 4 {
		return b, nil
	}
	lag, ok1 := answer[0].(int64)
	pending, ok2 := answer[1].(int64)
	place, ok3 := answer[2].(string)
	oldest, ok4 := answer[3].(string)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return b, fmt.Errorf("the backlog's script returned %v", answer)
	}
	return backlog{true, int(lag), int(pending), place, oldest}, nil
}
