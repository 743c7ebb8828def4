package redissse

import (
	"strings"
	"time"

	"github.com/millrace-go/millrace/sse/driver"
)

func checkInstance(what, instance string) error {
	if len(instance) == 0 || len(instance) > driver.MaxToken {
		return bad(what, "the instance has %d bytes; it must have 1 to %d", len(instance), driver.MaxToken)
	}
	return nil
}

func checkRules(what string, r driver.Rules) error {
	switch {
	case r.Max < 1:
		return bad(what, "Rules.Max is %d; it must be positive", r.Max)
	case r.Lifetime < time.Millisecond:
		return bad(what, "Rules.Lifetime is %v; give at least 1 ms", r.Lifetime)
	}
	return nil
}

func checkConn(what string, c driver.Conn) error {
	switch {
	case len(c.Member) == 0 || len(c.Member) > driver.MaxMember:
		return bad(what, "the member has %d bytes; it must have 1 to %d", len(c.Member), driver.MaxMember)
	case len(c.ID) == 0 || len(c.ID) > driver.MaxToken:
		return bad(what, "the connection id has %d bytes; it must have 1 to %d", len(c.ID), driver.MaxToken)
	case strings.LastIndexByte(c.ID, '.') < 1:
		return bad(what, "the connection id names no instance; it must be <instance>.<number>")
	case len(c.Token) == 0 || len(c.Token) > driver.MaxToken:
		return bad(what, "the token has %d bytes; it must have 1 to %d", len(c.Token), driver.MaxToken)
	}
	return nil
}

func checkConns(what string, conns []driver.Conn) error {
	if len(conns) > driver.MaxConns {
		return bad(what, "%d connections; give at most %d", len(conns), driver.MaxConns)
	}
	for _, c := range conns {
		if err := checkConn(what, c); err != nil {
			return err
		}
	}
	return nil
}
