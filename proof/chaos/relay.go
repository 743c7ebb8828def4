package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/relayfault"
)

// diesWithin bounds how long a relay may take until the publish after which it dies.
const diesWithin = time.Minute

// killRelay runs the relay as a process of its own and lets it die between publish
// and cursor, each time at another publish; then it leaves a relay without a fault
// running.
func killRelay(ctx context.Context, s *stage) error {
	main, err := s.launch.StartServe(ctx, "all but the relay", "api,worker,admitter", s.addr, readyWithin, s.shared())
	if err != nil {
		return err
	}
	s.live = append(s.live, main)
	for i, fault := range s.cfg.faults() {
		s.setState("relay %d of %d: %s", i+1, s.cfg.relayKills, fault)
		if err := s.relayDies(ctx, fault); err != nil {
			return fmt.Errorf("relay %d: %w", i+1, err)
		}
		select {
		case <-main.Done():
			return fmt.Errorf("the process of the API ended by itself (%s):\n%s", main.End(), main.Tail())
		default:
		}
	}
	relay, err := s.relay(ctx, "")
	if err != nil {
		return fmt.Errorf("the last relay: %w", err)
	}
	s.live = append(s.live, relay)
	return nil
}

// relay starts a relay of its own, with or without a fault.
func (s *stage) relay(ctx context.Context, fault string) (*launch.Process, error) {
	addr, err := launch.FreeAddr()
	if err != nil {
		return nil, err
	}
	env := s.shared()
	if fault != "" {
		// It may die before it is seen as ready.
		env[relayfault.Env] = fault
		return s.launch.Serve("relay", "relay", addr, env)
	}
	return s.ready(ctx, "relay", "relay", addr, env)
}

func (s *stage) relayDies(ctx context.Context, fault string) error {
	p, err := s.relay(ctx, fault)
	if err != nil {
		return err
	}
	defer p.Kill() // when it lives on
	timer := time.NewTimer(diesWithin)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("with %s it still lives after %v:\n%s", fault, diesWithin, p.Tail())
	case <-p.Done():
	}
	if !strings.Contains(p.Tail(), relayfault.Died) {
		return fmt.Errorf("it ended by itself (%s):\n%s", p.End(), p.Tail())
	}
	return nil
}
