package membus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// defaultRetention is how many messages a topic keeps.
const defaultRetention = 100_000

// Scheme makes the scheme "mem". Buses opened through the same Scheme value under the same name
// (mem://name) share one store while one of them is open; mem:// without a name is a store of
// its own.
//
// The parameter retention (?retention=1000) bounds the messages kept per topic; 100,000 by default.
// The first open bus of a name sets it; another value later is an error.
func Scheme() bus.Scheme { return &scheme{stores: map[string]*store{}} }

type scheme struct {
	mu     sync.Mutex
	stores map[string]*store
}

func (s *scheme) Names() []string { return []string{"mem"} }

func (s *scheme) Open(_ context.Context, u *url.URL) (driver.Driver, error) {
	params := driver.NewParams(u)
	retention := params.Int("retention", 0, 1)
	if err := params.Err(); err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, errors.New("membus: the URL has a user; write mem:// or mem://name")
	case u.Path != "" && u.Path != "/":
		return nil, errors.New("membus: the URL has a path; write mem:// or mem://name")
	case u.Fragment != "":
		return nil, errors.New("membus: the URL has a fragment; write mem:// or mem://name")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stores[u.Host]
	if u.Host == "" || st == nil {
		st = newStore(retention)
	} else if retention != 0 && retention != st.retention {
		return nil, fmt.Errorf("membus: %s is open with retention=%d; leave the parameter out or give the same", u.Host, st.retention)
	}
	if u.Host != "" {
		s.stores[u.Host] = st
	}
	st.users++
	return &transport{store: st, release: func() { s.release(u.Host, st) }}, nil
}

func (s *scheme) release(name string, st *store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.users--
	if st.users == 0 && s.stores[name] == st {
		delete(s.stores, name)
	}
}
